/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Private to waiting: what its thread shares with its user, under one lock. The thread keeps its
 * own process handles and results, so that one that hangs in a read can be left behind.
 */
#ifndef WAITING_WAITING_PRIVATE_H
#define WAITING_WAITING_PRIVATE_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "gobinary/gobinary.h"
#include "waiting/stands.h"
#include "waiting/waiting.h"

/* A process image as it was told. */
struct image {
	uint32_t generation;
	pid_t pid;
	uint64_t bias;
	struct gobinary_info info;
	bool hangs;	   /* a look at it has not returned */
	uint64_t added_ns; /* monotonic */
	struct image *next;
	unsigned references;
};

struct waiting {
	struct waiting_config config;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	unsigned references; /* the user's, and one of each thread */
	unsigned worker;     /* number of the thread that counts: others were left behind */
	bool stop, flush;
	uint32_t flush_of; /* at a flush: a generation; 0 all */
	struct image *images;
	/* Of the look under way: */
	uint32_t looking_at; /* a generation; 0 none */
	uint64_t looking_since_ns;
	uint64_t watched_ns; /* the last waiting_watch */
	struct record_list records;
	struct waiting_stats stats;
};

/* Those below are called with the lock. */

/* Lets go of it. */
void waiting_put(struct waiting *w);
/* Until then (monotonic), or until something changes. */
void waiting_sleep(struct waiting *w, uint64_t until_ns);
void image_put(struct image *image);
/* A thread that counts from here on; those before it end as soon as they can. A negative errno. */
int worker_begin(struct waiting *w);

#endif
