/* SPDX-License-Identifier: Apache-2.0 */
/* Opens processes and reads their executables on a thread that may hang without harm. */
#ifndef AGENT_LOADER_H
#define AGENT_LOADER_H

#include <stdbool.h>
#include <sys/types.h>

#include "process/identity.h"

struct binary;
struct binary_store;
struct loader;
struct process;

/* What became of one request; the taker owns process and the reference to binary. */
struct loaded {
	pid_t pid;
	int error;
	struct process *process;
	struct binary *binary;
	struct identity identity;
};

int loader_open(struct binary_store *store, struct loader **out);
/* Waits at most a second for the thread. */
void loader_close(struct loader *l);
/* -ENOSPC when too many wait. */
int loader_request(struct loader *l, pid_t pid);
int loader_get_fd(const struct loader *l); /* readable while results wait */
bool loader_take(struct loader *l, struct loaded *out);

#endif
