/* SPDX-License-Identifier: Apache-2.0 */
/* Opens processes and reads their executables on a thread that may hang without harm. */
#ifndef AGENT_LOADER_H
#define AGENT_LOADER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "gobinary/gobinary.h"
#include "process/identity.h"
#include "process/span_resource.h"

struct binary;
struct binary_store;
struct block_cache;
struct loader;
struct process;

/*
 * What became of one request; the taker owns process and the reference to binary, which an answer
 * about a service does not have.
 */
struct loaded {
	pid_t pid;
	uint64_t number; /* of the request */
	bool is_service;
	int error;
	struct process *process;
	struct binary *binary;
	struct identity identity;
	/* That the service was taken from; address 0 none. The known one was not read again. */
	struct span_resource resource;
};

/* Where a process tells which service it is. */
struct service_query {
	struct go_resource_layout layout;
	uint64_t bias, span; /* span: address of a recordingSpan */
	struct span_resource known;
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
/* The same for what one of its spans leads to. */
int loader_request_service(struct loader *l, pid_t pid, uint64_t number,
			   const struct service_query *query);
int loader_get_fd(const struct loader *l); /* readable while results wait */
bool loader_take(struct loader *l, struct loaded *out);

#endif
