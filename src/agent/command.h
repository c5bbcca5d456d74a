/* SPDX-License-Identifier: Apache-2.0 */
/* The COMMAND behind --: made first, released when probes are in place, signalled, reaped. */
#ifndef AGENT_COMMAND_H
#define AGENT_COMMAND_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct command;

/* Forks a process that waits; to be called before there are threads. */
int command_open(char **argv, struct command **out);
/* A process of which the COMMAND and all that comes of it descend, and nothing else. */
pid_t command_get_ancestor(const struct command *c);
/* Lets the COMMAND start; waits until it has or failed. -errno of the exec. */
int command_release(struct command *c);
void command_signal(struct command *c, int signal);
/* True once it has ended; `*status` as of waitpid. Does not block. */
bool command_has_ended(struct command *c, int *status);
/*
 * Ends what still runs (SIGTERM, after a second SIGKILL), all descendants. A COMMAND that has ended
 * by itself may leave processes behind.
 */
void command_close(struct command *c);
/* Where execvp would find the program; -ENOENT. */
int command_find_program(const char *name, char *path, size_t size);

#endif
