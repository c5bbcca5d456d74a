/* SPDX-License-Identifier: Apache-2.0 */
/* Log lines; see log.h. */
#include "base/log.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

#include "base/string_table.h"

#define LINE_BYTES_MAX 2048 /* longer lines are cut */

/* One write per line, so that lines of several threads and processes do not mix. */
static void write_line(const struct log *log, const char *level, const char *format, va_list list)
{
	const char *clear = log->clears ? "\r\033[J" : "";
	char raw[LINE_BYTES_MAX], line[LINE_BYTES_MAX + 64];
	size_t head, size;
	int length;

	length = vsnprintf(raw, sizeof(raw), format, list);
	if (length < 0)
		return;
	size = (size_t)length < sizeof(raw) ? (size_t)length : sizeof(raw) - 1;
	if (size && raw[size - 1] == '\n')
		size--;
	head = (size_t)snprintf(line, sizeof(line), "%sspanprof: %s", clear, level);
	/* What a target chose may stand in the message: cleaned, it cannot start a second line. */
	size = head + string_clean(line + head, sizeof(line) - head - 1, raw, size);
	line[size++] = '\n';
	while (write(log->fd, line, size) < 0 && errno == EINTR)
		;
}

void log_error(const struct log *log, const char *format, ...)
{
	va_list list;

	va_start(list, format);
	write_line(log, "error: ", format, list);
	va_end(list);
}

void log_warn(const struct log *log, const char *format, ...)
{
	va_list list;

	va_start(list, format);
	write_line(log, "warning: ", format, list);
	va_end(list);
}

void log_info(const struct log *log, const char *format, ...)
{
	va_list list;

	va_start(list, format);
	write_line(log, "", format, list);
	va_end(list);
}

void log_debug(const struct log *log, const char *format, ...)
{
	va_list list;

	if (!log->verbose)
		return;
	va_start(list, format);
	write_line(log, "debug: ", format, list);
	va_end(list);
}
