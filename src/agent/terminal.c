/* SPDX-License-Identifier: Apache-2.0 */
/* Terminal properties by ioctl, and the live table by two control sequences that all know. */
#include "agent/terminal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "agent/options.h"
#include "base/bytes.h"
#include "profile/profile.h"
#include "report/report.h"

#define LIVE_ROWS_MAX  12
#define LIVE_BYTES_MAX (64 << 10)

unsigned terminal_columns(int fd)
{
	struct winsize size;

	return isatty(fd) && !ioctl(fd, TIOCGWINSZ, &size) && size.ws_col ? size.ws_col : 0;
}

static unsigned terminal_rows(int fd)
{
	struct winsize size;

	return isatty(fd) && !ioctl(fd, TIOCGWINSZ, &size) && size.ws_row ? size.ws_row : 24;
}

bool terminal_has_color(int fd)
{
	const char *kind = getenv("TERM"), *no_color = getenv("NO_COLOR");

	return isatty(fd) && kind && strcmp(kind, "dumb") && !(no_color && *no_color);
}

bool live_is_possible(const struct options *o)
{
	return options_is_local(o) && !o->command && isatty(STDERR_FILENO);
}

void live_clear(struct live *l)
{
	if (l->drawn)
		fputs("\r\033[J", stderr);
	l->drawn = false;
}

void live_draw(struct live *l, const struct profile *total)
{
	unsigned rows = terminal_rows(STDERR_FILENO);
	struct report_options options = {
		.color = terminal_has_color(STDERR_FILENO),
		.columns = terminal_columns(STDERR_FILENO),
	};
	struct profile_view view;
	struct buffer text;
	unsigned lines = 0;

	profile_get_view(total, &view);
	if (view.sample_count <= 1)
		return; /* entry 0 stands for none */
	rows = rows > LIVE_ROWS_MAX + 2 ? LIVE_ROWS_MAX : rows > 3 ? rows - 2 : 1;
	buffer_open(&text, LIVE_BYTES_MAX);
	if (!report_live(total, &options, rows, &text)) {
		live_clear(l);
		for (size_t i = 0; i < text.size; i++)
			lines += text.data[i] == '\n';
		fwrite(text.data, 1, text.size, stderr);
		fprintf(stderr, "\033[%uA\r", lines);
		fflush(stderr);
		l->drawn = true;
	}
	buffer_close(&text);
}
