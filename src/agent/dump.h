/* SPDX-License-Identifier: Apache-2.0 */
/* spanprof dump: every open span of a process now, by reading its memory alone. */
#ifndef AGENT_DUMP_H
#define AGENT_DUMP_H

struct log;
struct options;

/* Prints to stdout. The exit code of the program. */
int dump_run(const struct options *options, const struct log *log);

#endif
