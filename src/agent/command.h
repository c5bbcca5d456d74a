/* SPDX-License-Identifier: Apache-2.0 */
/* The COMMAND behind --: made first, released when probes are in place, signalled, reaped. */
#ifndef AGENT_COMMAND_H
#define AGENT_COMMAND_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct command;

/* Forks a child that waits. The descendants' own children of ours are not touched. */
int command_open(char **argv, struct command **out);
pid_t command_get_pid(const struct command *c);
/* Lets the child exec; waits until it has or failed. -errno of the exec. */
int command_release(struct command *c);
void command_signal(struct command *c, int signal);
/* True once it has ended; `*status` as of waitpid. Does not block. */
bool command_has_ended(struct command *c, int *status);
/* Ends what still runs (SIGTERM, after a second SIGKILL) and reaps it. */
void command_close(struct command *c);
/* Where execvp would find the program; -ENOENT. */
int command_find_program(const char *name, char *path, size_t size);

#endif
