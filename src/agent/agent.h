/* SPDX-License-Identifier: Apache-2.0 */
/* agent: runs one profiling session from the parsed options to the exit code. */
#ifndef AGENT_AGENT_H
#define AGENT_AGENT_H

struct log;
struct options;

/* Exit codes of the program. */
enum { EXIT_DONE = 0, EXIT_FAILED = 1, EXIT_USAGE = 2 };

int agent_run(const struct options *options, const struct log *log);

#endif
