/* SPDX-License-Identifier: Apache-2.0 */
/* What a descriptor is for a person: a terminal, how wide, in color or not. */
#ifndef AGENT_TERMINAL_H
#define AGENT_TERMINAL_H

#include <stdbool.h>

struct options;
struct profile;

/* 0: not a terminal. */
unsigned terminal_columns(int fd);
/* A terminal that is not "dumb", unless NO_COLOR is set. */
bool terminal_has_color(int fd);

/*
 * The live table on stderr, drawn over its last state. The cursor waits at its top, so that a log
 * line takes its place and the next table stands below that.
 */
struct live {
	bool drawn;
};
/* A terminal, a profile that prints a report, and no COMMAND that writes there itself. */
bool live_is_possible(const struct options *o);
void live_draw(struct live *l, const struct profile *total);
/* Wipes the table, so that log lines and the report follow cleanly. */
void live_clear(struct live *l);

#endif
