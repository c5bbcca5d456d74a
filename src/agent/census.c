/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Each goroutine's stack is read whole; what its live words lead to, by contexts, are the spans it
 * works for. It is read again at the end: one that has moved meanwhile tells nothing.
 */
#include "agent/census.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "agent/binary_store.h"
#include "agent/targets.h"
#include "base/clock.h"
#include "capture/capture.h"
#include "gobinary/gobinary.h"
#include "process/goroutines.h"
#include "process/process.h"
#include "process/span_memory.h"
#include "unwind/live_stack.h"

#define GOROUTINES_MAX	131072
#define BATCH		256
#define STACK_BYTES_MAX 65536 /* from the top: deeper frames hold what began earlier */
#define WORDS_MAX	256   /* pointers of one stack that are followed */
#define LINKS_MAX	32    /* from one context to the one that it was made from */
#define SPANS_MAX	16
#define ARENA_BITS	36 /* the heap lies together: 64 GiB are taken for it */
#define TIME_NS		300000000ull

/* context.valueCtx; the other contexts, too, begin with the one that they were made from. */
struct value_context {
	uint64_t parent_itab, parent;
	uint64_t key_type, key;
	uint64_t value_type, value;
};

struct census {
	const struct target *target;
	const struct gobinary_info *info;
	uint64_t *stack;
	/* Of the goroutine at hand: */
	uint64_t g;
	uint64_t words[WORDS_MAX];
	bool used[WORDS_MAX];
	size_t word_count;
	struct span_memory spans[SPANS_MAX];
	size_t span_count;
};

static bool is_in_heap(void *context, uint64_t word)
{
	const struct census *c = context;

	return !((word ^ c->g) >> ARENA_BITS) && !(word & 7);
}

static void keep_word(void *context, uint64_t word, bool used)
{
	struct census *c = context;

	if (c->word_count == WORDS_MAX)
		return;
	c->used[c->word_count] = used;
	c->words[c->word_count++] = word;
}

static bool is_context(const struct census *c, uint64_t itab)
{
	for (size_t i = 0; i < c->info->itabs.context_count; i++)
		if (itab == c->info->itabs.context[i] + c->target->bias)
			return true;
	return false;
}

static bool has_parent(const struct census *c, const struct span_memory *span)
{
	for (size_t i = 0; i < c->span_count; i++)
		if (!memcmp(span->parent_id, c->spans[i].span_id, sizeof(span->parent_id)))
			return true;
	return false;
}

/* From a word that is not seen to be used only a child of what is known: see follow_all. */
static void keep_open_span(struct census *c, uint64_t address, bool used)
{
	struct span_memory span;

	for (size_t i = 0; i < c->span_count; i++)
		if (c->spans[i].address == address)
			return;
	if (c->span_count < SPANS_MAX &&
	    !span_memory_read(c->target->process, &c->info->span, address, &span) &&
	    span_memory_is_open(&span) && span_memory_is_plausible(&span, clock_wall_ns()) &&
	    (used || has_parent(c, &span)))
		c->spans[c->span_count++] = span;
}

/*
 * A word that points to a context leads to all spans around it, the innermost first. A
 * recordingSpan begins with zeroes (an interface embedded, a mutex), a context never.
 */
static void follow(struct census *c, uint64_t word, bool used)
{
	uint64_t span_type = c->info->span_type + c->target->bias;
	uint64_t unsampled_type = c->info->unsampled_type + c->target->bias;
	struct value_context v;

	for (int i = 0; i < LINKS_MAX; i++) {
		if (process_read_memory(c->target->process, word, &v, sizeof(v)))
			return;
		if (!i && !v.parent_itab) {
			keep_open_span(c, word, used);
			return;
		}
		if (c->info->unsampled_type && v.value_type == unsampled_type)
			return;
		if (c->info->span_type && v.value_type == span_type)
			keep_open_span(c, v.value, used);
		if (!is_context(c, v.parent_itab))
			return;
		word = v.parent;
	}
}

/*
 * Words whose address is taken do not show as used: of the others, those count that lead to an open
 * child of a span that is known, as long as that finds more.
 */
static void follow_all(struct census *c)
{
	size_t known;

	for (size_t i = 0; i < c->word_count; i++)
		if (c->used[i])
			follow(c, c->words[i], true);
	do {
		known = c->span_count;
		for (size_t i = 0; i < c->word_count && known; i++)
			if (!c->used[i])
				follow(c, c->words[i], false);
	} while (c->span_count > known);
}

static int by_start(const void *left, const void *right)
{
	const struct span_memory *a = left, *b = right;
	uint64_t from = go_time_wall_ns(a->start), to = go_time_wall_ns(b->start);

	return from < to ? -1 : from > to;
}

static int tell(struct census *c, struct capture *capture, uint64_t goid)
{
	struct capture_older_span spans[SPANS_MAX];

	qsort(c->spans, c->span_count, sizeof(*c->spans), by_start);
	for (size_t i = 0; i < c->span_count; i++) {
		spans[i].address = c->spans[i].address;
		memcpy(spans[i].span_id, c->spans[i].span_id, sizeof(spans[i].span_id));
	}
	return capture_add_older(capture, c->target->generation, c->g, goid, spans, c->span_count);
}

static bool stands_still(const struct goroutine_state *g)
{
	return g->status == GOROUTINE_WAITING || g->status == GOROUTINE_RUNNABLE ||
	       g->status == GOROUTINE_SYSCALL;
}

/* Finds its open spans. False: it moved, or its stack could not be read. */
static bool look_at(struct census *c, const struct goroutine_state *g)
{
	size_t bytes = (size_t)(g->stack_high - g->sp);
	struct still_stack stack = {.pc = g->pc, .sp = g->sp, .words = c->stack};
	struct live_stack_query query = {c, is_in_heap, keep_word};
	struct goroutine_state again;
	bool interrupted;

	c->g = g->g;
	c->word_count = c->span_count = 0;
	bytes = bytes < STACK_BYTES_MAX ? bytes : STACK_BYTES_MAX;
	if (process_read_memory(c->target->process, g->sp, c->stack, bytes))
		return false;
	stack.count = bytes / sizeof(*c->stack);
	interrupted = live_stack_each(c->target->binary->go, c->target->bias, &stack, &query);
	follow_all(c);
	if (interrupted && !c->span_count)
		return false; /* its span may be known by the very function that was interrupted */
	return !goroutines_read(c->target->process, c->info, &g->g, 1, &again) &&
	       again.goid == g->goid && again.status == g->status && again.sp == g->sp &&
	       again.pc == g->pc;
}

static int look_at_batch(struct census *c, struct capture *capture, const uint64_t *list,
			 size_t count, struct census_result *out)
{
	struct goroutine_state states[BATCH];
	int error = goroutines_read(c->target->process, c->info, list, count, states);

	for (size_t i = 0; i < count && !error; i++) {
		const struct goroutine_state *g = &states[i];

		if (!g->goid || g->status == GOROUTINE_DEAD || g->status == GOROUTINE_IDLE)
			continue;
		out->goroutines++;
		if (!stands_still(g) || !look_at(c, g)) {
			if (out->running < CENSUS_RUNNING_MAX)
				out->ran[out->running] = g->g;
			out->running++;
			continue;
		}
		if (!c->span_count)
			continue;
		if (tell(c, capture, g->goid))
			out->unread++;
		else
			out->tagged++;
	}
	return error;
}

static int look_at_list(struct capture *capture, const struct target *target, const uint64_t *list,
			size_t count, struct census_result *out)
{
	struct census c = {.target = target, .info = gobinary_get_info(target->binary->go)};
	uint64_t end_ns = clock_monotonic_ns() + TIME_NS;
	size_t at = 0;
	int error = 0;

	memset(out, 0, sizeof(*out));
	c.stack = malloc(STACK_BYTES_MAX);
	if (!c.stack)
		return -ENOMEM;
	for (; at < count && !error && clock_monotonic_ns() < end_ns; at += BATCH)
		error = look_at_batch(&c, capture, list + at,
				      count - at < BATCH ? count - at : BATCH, out);
	if (at < count)
		out->unread += count - at;
	free(c.stack);
	return error;
}

int census_take(struct capture *capture, const struct target *target, struct census_result *out)
{
	uint64_t *list = NULL;
	size_t count = 0;
	int error = goroutines_list(target->process, gobinary_get_info(target->binary->go),
				    target->bias, GOROUTINES_MAX, &list, &count);

	if (!error)
		error = look_at_list(capture, target, list, count, out);
	free(list);
	return error;
}

int census_take_again(struct capture *capture, const struct target *target,
		      struct census_result *out)
{
	uint64_t list[CENSUS_RUNNING_MAX];
	size_t count = out->running < CENSUS_RUNNING_MAX ? out->running : CENSUS_RUNNING_MAX;

	memcpy(list, out->ran, count * sizeof(*list));
	return look_at_list(capture, target, list, count, out);
}
