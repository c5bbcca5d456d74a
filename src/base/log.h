/* SPDX-License-Identifier: Apache-2.0 */
/* Log lines on one stream, cleaned, with a level. Only the agent and export stages log. */
#ifndef BASE_LOG_H
#define BASE_LOG_H

#include <stdbool.h>

struct log {
	int fd;	      /* where lines go, usually 2 */
	bool verbose; /* whether log_debug lines are written */
	bool clears;  /* a table may stand below the cursor: wiped before each line */
};

void log_error(const struct log *log, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
void log_warn(const struct log *log, const char *format, ...) __attribute__((format(printf, 2, 3)));
void log_info(const struct log *log, const char *format, ...) __attribute__((format(printf, 2, 3)));
void log_debug(const struct log *log, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

#endif
