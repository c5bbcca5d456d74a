/* SPDX-License-Identifier: Apache-2.0 */
/* Opens processes and reads their executables on a thread that may hang without harm. */
#ifndef AGENT_LOADER_H
#define AGENT_LOADER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "process/identity.h"

struct binary;
struct binary_store;
struct block_cache;
struct loader;
struct process;

/* What became of one request; the taker owns process and the reference to binary. */
struct loaded {
	pid_t pid;
	uint64_t number; /* of the request */
	int error;
	struct process *process;
	struct binary *binary;
	struct identity identity;
};

/* What becomes of one process, on the caller's thread; `cache` serves this reading alone. */
void loader_load(struct binary_store *store, struct block_cache *cache, pid_t pid,
		 struct loaded *out);
int loader_open(struct binary_store *store, struct loader **out);
/*
 * Waits at most a second for the thread. False: it hangs in a read of a foreign file, and goes on
 * using the store, which must stay.
 */
bool loader_close(struct loader *l);
/* Answered in order. `number` comes back with the answer. -ENOSPC when too many wait. */
int loader_request(struct loader *l, pid_t pid, uint64_t number);
int loader_get_fd(const struct loader *l); /* readable while results wait */
bool loader_take(struct loader *l, struct loaded *out);

#endif
