/* SPDX-License-Identifier: Apache-2.0 */
/* Private to waiting: what part of its time a thread that is to run has a CPU. */
#ifndef WAITING_THREAD_SHARE_H
#define WAITING_THREAD_SHARE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct process;
struct thread_shares;

/* What a thread does at a look. The parts are of 1; what is left runs. */
struct thread_share {
	bool blocked;	  /* it waits in the kernel: no parts */
	double queued;	  /* it waits for a CPU */
	double throttled; /* it waits as its cgroup has used up its quota */
};

/* `p` is lent for as long. -ENOMEM. */
int thread_shares_open(const struct process *p, struct thread_shares **out);
void thread_shares_close(struct thread_shares *t);
/*
 * `number` as the process sees it. The parts are those since the last look at that thread; at the
 * first one it counts as running. -ESRCH, -ENOTSUP, -ENOMEM.
 */
int thread_shares_look(struct thread_shares *t, uint64_t number, struct thread_share *out);
/* See threads_read_wait_channel. */
void thread_shares_get_channel(struct thread_shares *t, uint64_t number, char *name, size_t size);
/* Forgets the threads that were not looked at since the last call but one. */
void thread_shares_sweep(struct thread_shares *t);

#endif
