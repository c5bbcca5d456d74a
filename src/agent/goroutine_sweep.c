/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A goroutine has ended when its runtime.g is dead or another goroutine's: goids are never used
 * again.
 */
#include "agent/goroutine_sweep.h"

#include <stdlib.h>

#include "agent/binary_store.h"
#include "agent/targets.h"
#include "capture/capture.h"
#include "gobinary/gobinary.h"
#include "process/goroutines.h"

#define GOROUTINES_MAX 65536
#define BATCH	       256

struct list {
	struct capture_stored_goroutine *entries;
	size_t count;
};

static void keep(void *context, const struct capture_stored_goroutine *goroutine)
{
	struct list *l = context;

	if (l->count < GOROUTINES_MAX)
		l->entries[l->count++] = *goroutine;
}

static int by_generation(const void *left, const void *right)
{
	const struct capture_stored_goroutine *a = left, *b = right;

	return a->generation < b->generation ? -1 : a->generation > b->generation;
}

/* Up to BATCH of one process. */
static void check(struct capture *capture, const struct target *target,
		  const struct capture_stored_goroutine *entries, size_t count)
{
	const struct gobinary_info *info = gobinary_get_info(target->binary->go);
	struct goroutine_state states[BATCH];
	uint64_t addresses[BATCH];

	for (size_t i = 0; i < count; i++)
		addresses[i] = entries[i].g;
	if (goroutines_read(target->process, info, addresses, count, states))
		return;
	for (size_t i = 0; i < count; i++)
		if (states[i].goid != entries[i].goid || states[i].status == GOROUTINE_DEAD)
			capture_forget_goroutine(capture, &entries[i]);
}

void goroutine_sweep_run(struct goroutine_sweep *s, struct capture *capture,
			 struct targets *targets)
{
	struct target_counters counters;
	struct list list = {0};
	struct target *target;
	size_t end;

	capture_get_counters(capture, &counters);
	if (counters.lost[LOSS_GOROUTINES_FULL] == s->full)
		return;
	s->full = counters.lost[LOSS_GOROUTINES_FULL];
	list.entries = malloc(GOROUTINES_MAX * sizeof(*list.entries));
	if (!list.entries || capture_each_goroutine(capture, keep, &list))
		goto out;
	qsort(list.entries, list.count, sizeof(*list.entries), by_generation);
	for (size_t at = 0; at < list.count; at = end) {
		uint32_t generation = list.entries[at].generation;

		for (end = at; end < list.count && end - at < BATCH &&
			       list.entries[end].generation == generation;)
			end++;
		target = targets_find_generation(targets, generation);
		if (target)
			check(capture, target, list.entries + at, end - at);
	}
out:
	free(list.entries);
}
