/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Of the time in which it was to run, the kernel counts how much it ran and how much it waited for
 * a CPU; where the cgroup was throttled meanwhile, that is the reason. See thread_share.h.
 */
#include "waiting/thread_share.h"

#include <errno.h>
#include <stdlib.h>

#include <uthash.h>

#include "process/cpu_quota.h"
#include "process/threads.h"

struct thread {
	uint64_t number;
	uint64_t cpu_ns, queued_ns, throttled_ns; /* totals, as of the last look */
	unsigned sweep;
	UT_hash_handle hh;
};

struct thread_shares {
	struct threads *threads;
	struct cpu_quota *quota;
	struct thread *known;
	unsigned sweep;
};

int thread_shares_open(const struct process *p, struct thread_shares **out)
{
	struct thread_shares *t = calloc(1, sizeof(*t));
	int error = t ? 0 : -ENOMEM;

	if (!error)
		error = threads_open(p, &t->threads);
	if (!error)
		error = cpu_quota_open(p, &t->quota);
	if (error) {
		thread_shares_close(t);
		t = NULL;
	}
	*out = t;
	return error;
}

static void forget(struct thread_shares *t, struct thread *thread)
{
	HASH_DEL(t->known, thread);
	free(thread);
}

void thread_shares_close(struct thread_shares *t)
{
	struct thread *thread, *next;

	if (!t)
		return;
	HASH_ITER (hh, t->known, thread, next)
		forget(t, thread);
	cpu_quota_close(t->quota);
	threads_close(t->threads);
	free(t);
}

static struct thread *get(struct thread_shares *t, uint64_t number)
{
	struct thread *thread;

	HASH_FIND(hh, t->known, &number, sizeof(number), thread);
	if (thread)
		return thread;
	thread = calloc(1, sizeof(*thread));
	if (!thread)
		return NULL;
	thread->number = number;
	HASH_ADD(hh, t->known, number, sizeof(thread->number), thread);
	return thread;
}

/* Of the time between two looks in which the thread was to run. */
static void divide(const struct thread *before, const struct thread *now, struct thread_share *out)
{
	uint64_t queued_ns = now->queued_ns - before->queued_ns;
	uint64_t throttled_ns = now->throttled_ns - before->throttled_ns;
	uint64_t all_ns = now->cpu_ns - before->cpu_ns + queued_ns;

	if (throttled_ns > queued_ns)
		throttled_ns = queued_ns;
	if (!all_ns)
		return;
	out->throttled = (double)throttled_ns / (double)all_ns;
	out->queued = (double)(queued_ns - throttled_ns) / (double)all_ns;
}

int thread_shares_look(struct thread_shares *t, uint64_t number, struct thread_share *out)
{
	struct thread_state state;
	struct thread *known, now;
	int error = threads_read(t->threads, number, &state);

	*out = (struct thread_share){0};
	if (error)
		return error;
	known = get(t, number);
	if (!known)
		return -ENOMEM;
	now = *known;
	now.cpu_ns = state.cpu_ns;
	now.queued_ns = state.queued_ns;
	now.throttled_ns = cpu_quota_get_throttled_ns(t->quota);
	now.sweep = t->sweep;
	out->blocked = state.state != 'R';
	/* One that was not known, or whose number is another thread's now, has no time behind it.
	 */
	if (!out->blocked && known->cpu_ns && now.cpu_ns >= known->cpu_ns)
		divide(known, &now, out);
	*known = now;
	return 0;
}

void thread_shares_get_channel(struct thread_shares *t, uint64_t number, char *name, size_t size)
{
	threads_read_wait_channel(t->threads, number, name, size);
}

void thread_shares_sweep(struct thread_shares *t)
{
	struct thread *thread, *next;

	HASH_ITER (hh, t->known, thread, next)
		if (t->sweep - thread->sweep > 1)
			forget(t, thread);
	t->sweep++;
}
