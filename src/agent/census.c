/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Each goroutine's stack is read whole; the spans that its live words point to are those it has
 * started and is to end. (Who has but a context works for its span as long as the stack shows it:
 * samples find that.) What was read counts if the goroutine has not moved meanwhile.
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
#include "gobinary/pclntab.h"
#include "process/goroutines.h"
#include "process/process.h"
#include "process/remote_pieces.h"
#include "process/span_memory.h"
#include "unwind/live_stack.h"

#define GOROUTINES_MAX	131072
#define BATCH		256
#define STACK_BYTES_MAX 65536 /* from the top: deeper frames hold what began earlier */
#define WORDS_MAX	256   /* pointers of one stack that are followed */
#define SPAN_BYTES_MAX	1024
#define SPANS_MAX	16

struct look {
	const struct target *target;
	const struct gobinary_info *info;
	uint64_t now_ns;
	__u64 *words;	/* of the stack at hand */
	uint8_t *bytes; /* of what its pointers point to */
	/* Of the goroutine at hand: */
	struct still_stack stack;
	uint64_t g;
	struct remote_piece pieces[WORDS_MAX];
	bool used[WORDS_MAX];
	size_t count;
	struct span_memory spans[SPANS_MAX];
	size_t span_count;
};

static bool is_in_heap(void *context, uint64_t word)
{
	const struct look *c = context;
	uint64_t into_stack = word - c->stack.words.address;

	return !((word ^ c->g) >> TARGET_ARENA_BITS) && !(word & 7) &&
	       into_stack >= c->stack.words.count * sizeof(*c->words);
}

/*
 * A deferred span.End() keeps its code, then the span as an interface: words before the one at
 * hand, in a variable of their own, of which the compiler's maps do not tell whether it is in use.
 * (Return addresses stand before interfaces as well, and functions that were deferred once lie
 * about.)
 */
static bool is_deferred(const struct look *c, const struct live_word *w)
{
	struct pclntab *table = gobinary_get_pclntab(c->target->binary->go);
	uint64_t bias = c->target->bias, code, itab;

	return c->info->itabs.span_count &&
	       stack_words_get(&c->stack.words, w->address - 8, &itab) &&
	       itab == c->info->itabs.span[0] + bias &&
	       stack_words_get(&c->stack.words, w->address - 16, &code) &&
	       pclntab_begins_at(table, code - bias) &&
	       pclntab_has_stack_object(table, w->pc, true,
					(int64_t)(w->limit - (w->address - 16)));
}

static void keep_word(void *context, const struct live_word *w)
{
	struct look *c = context;
	size_t size = span_memory_size(&c->info->span);

	if (c->count == WORDS_MAX)
		return;
	c->used[c->count] = w->used || is_deferred(c, w);
	c->pieces[c->count] =
		(struct remote_piece){w->word, c->bytes + c->count * SPAN_BYTES_MAX, size, false};
	c->count++;
}

static bool is_known(const struct look *c, uint64_t address)
{
	for (size_t i = 0; i < c->span_count; i++)
		if (c->spans[i].address == address)
			return true;
	return false;
}

static bool has_parent(const struct look *c, const struct span_memory *span)
{
	for (size_t i = 0; i < c->span_count; i++)
		if (!memcmp(span->parent_id, c->spans[i].span_id, sizeof(span->parent_id)))
			return true;
	return false;
}

/* Whether an open span is there. It begins with zeroes: an interface embedded, or a mutex. */
static bool decode(const struct look *c, size_t index, struct span_memory *span)
{
	const struct remote_piece *piece = &c->pieces[index];
	uint64_t first;

	if (!piece->read)
		return false;
	memcpy(&first, piece->to, sizeof(first));
	if (first)
		return false;
	span_memory_decode(&c->info->span, piece->address, piece->to, span);
	return span_memory_is_open(span) && span_memory_is_plausible(span, c->now_ns);
}

/*
 * Of words that do not show as used, for the address of a variable was taken, those count that
 * lead to an open child of a span that is known, as long as that finds more.
 */
static void find_spans(struct look *c)
{
	struct span_memory span;
	size_t known;

	for (size_t i = 0; i < c->count && c->span_count < SPANS_MAX; i++)
		if (c->used[i] && decode(c, i, &span) && !is_known(c, span.address))
			c->spans[c->span_count++] = span;
	do {
		known = c->span_count;
		for (size_t i = 0; i < c->count && known && c->span_count < SPANS_MAX; i++)
			if (!c->used[i] && decode(c, i, &span) && !is_known(c, span.address) &&
			    has_parent(c, &span))
				c->spans[c->span_count++] = span;
	} while (c->span_count > known);
}

static int by_start(const void *left, const void *right)
{
	const struct span_memory *a = left, *b = right;
	uint64_t from = go_time_wall_ns(a->start), to = go_time_wall_ns(b->start);

	return from < to ? -1 : from > to;
}

static int tell(struct look *c, struct capture *capture, uint64_t goid)
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
static bool look_at(struct look *c, const struct goroutine_state *g)
{
	size_t bytes = (size_t)(g->stack_high - g->sp);
	struct live_stack_query query = {c, is_in_heap, keep_word};
	struct goroutine_state again;
	bool interrupted;

	c->g = g->g;
	c->count = c->span_count = 0;
	bytes = bytes < STACK_BYTES_MAX ? bytes : STACK_BYTES_MAX;
	if (process_read_memory(c->target->process, g->sp, c->words, bytes))
		return false;
	c->stack = (struct still_stack){g->pc, {g->sp, c->words, bytes / sizeof(*c->words)}};
	interrupted = live_stack_each(c->target->binary->go, c->target->bias, &c->stack, &query);
	if (remote_pieces_read(c->target->process, c->pieces, c->count))
		return false;
	find_spans(c);
	if (interrupted && !c->span_count)
		return false; /* its span may be known by the very function that was interrupted */
	return !goroutines_read(c->target->process, c->info, &g->g, 1, &again) &&
	       again.goid == g->goid && again.status == g->status && again.sp == g->sp &&
	       again.pc == g->pc;
}

static int look_at_batch(struct look *c, struct capture *capture, struct census *census)
{
	size_t count = census->left < BATCH ? census->left : BATCH;
	const uint64_t *list = census->list + census->left - count;
	struct goroutine_state states[BATCH];
	int error = goroutines_read(c->target->process, c->info, list, count, states);

	for (size_t i = 0; i < count && !error; i++) {
		const struct goroutine_state *g = &states[i];

		if (!g->goid || g->status == GOROUTINE_DEAD || g->status == GOROUTINE_IDLE)
			continue;
		if (!stands_still(g) || !look_at(c, g)) {
			census->ran[census->running++] = g->g;
			continue;
		}
		census->goroutines++;
		if (!c->span_count)
			continue;
		if (tell(c, capture, g->goid))
			census->unstored++;
		else
			census->tagged++;
	}
	census->left -= count;
	return error;
}

static void begin_round(struct census *census)
{
	uint64_t *looked_through = census->list;

	census->list = census->ran;
	census->left = census->running;
	census->ran = looked_through;
	census->running = 0;
}

int census_begin(const struct target *target, struct census *out)
{
	int error;

	memset(out, 0, sizeof(*out));
	error = goroutines_list(target->process, gobinary_get_info(target->binary->go),
				target->bias, GOROUTINES_MAX, &out->list, &out->left);
	if (error)
		return error;
	out->ran = malloc(out->left * sizeof(*out->ran) + 1);
	if (out->ran)
		return 0;
	census_end(out);
	return -ENOMEM;
}

void census_end(struct census *census)
{
	free(census->list);
	free(census->ran);
	census->list = census->ran = NULL;
	census->left = census->running = 0;
}

int census_look(struct capture *capture, const struct target *target, struct census *census,
		uint64_t budget_ns)
{
	struct look *c = calloc(1, sizeof(*c));
	uint64_t end_ns = clock_monotonic_ns() + budget_ns;
	int error = 0;

	if (!c)
		return -ENOMEM;
	c->target = target;
	c->info = gobinary_get_info(target->binary->go);
	c->now_ns = clock_wall_ns();
	c->words = malloc(STACK_BYTES_MAX);
	c->bytes = malloc((size_t)WORDS_MAX * SPAN_BYTES_MAX);
	if (!c->words || !c->bytes)
		error = -ENOMEM;
	if (!census->left)
		begin_round(census);
	while (census->left && !error && clock_monotonic_ns() < end_ns)
		error = look_at_batch(c, capture, census);
	free(c->bytes);
	free(c->words);
	free(c);
	return error;
}
