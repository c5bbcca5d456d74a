/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Each goroutine's stack is read whole; the spans that it holds are those it has started and is to
 * end. (Who has but a context works for its span as long as the stack shows it: samples find that.)
 * What was read counts if the goroutine has not moved meanwhile.
 */
#include "agent/census.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "agent/binary_store.h"
#include "agent/stack_spans.h"
#include "agent/targets.h"
#include "base/clock.h"
#include "capture/capture.h"
#include "gobinary/gobinary.h"
#include "process/goroutines.h"
#include "process/process.h"

#define GOROUTINES_MAX	131072
#define BATCH		256
#define STACK_BYTES_MAX 65536 /* from the top: deeper frames hold what began earlier */

struct look {
	const struct target *target;
	const struct gobinary_info *info;
	struct stack_spans *search;
	__u64 *words; /* of the stack at hand */
	struct stack_spans_found found;
};

static int tell(struct look *c, struct capture *capture, const struct goroutine_state *g)
{
	struct capture_older_span spans[STACK_SPANS_MAX];

	for (size_t i = 0; i < c->found.count; i++) {
		spans[i].address = c->found.spans[i].address;
		memcpy(spans[i].span_id, c->found.spans[i].span_id, sizeof(spans[i].span_id));
	}
	return capture_add_older(capture, c->target->generation, g->g, g->goid, spans,
				 c->found.count);
}

/* Finds its open spans. False: it moved, or its stack could not be read. */
static bool look_at(struct look *c, const struct goroutine_state *g)
{
	size_t bytes = (size_t)(g->stack_high - g->sp);
	struct goroutine_state again;
	struct still_stack stack;

	bytes = bytes < STACK_BYTES_MAX ? bytes : STACK_BYTES_MAX;
	if (process_read_memory(c->target->process, g->sp, c->words, bytes))
		return false;
	stack = (struct still_stack){g->pc, {g->sp, c->words, bytes / sizeof(*c->words)}};
	if (stack_spans_find(c->search, g->g, &stack, &c->found))
		return false;
	if (c->found.interrupted && !c->found.count)
		return false; /* its span may be known by the very function that was interrupted */
	return !goroutines_read(c->target->process, c->info, &g->g, 1, &again) &&
	       goroutine_has_stayed(g, &again);
}

static int look_at_batch(struct look *c, struct capture *capture, struct census *census)
{
	size_t count = census->left < BATCH ? census->left : BATCH;
	const uint64_t *list = census->list + census->left - count;
	struct goroutine_state states[BATCH];
	int error = goroutines_read(c->target->process, c->info, list, count, states);

	for (size_t i = 0; i < count && !error; i++) {
		const struct goroutine_state *g = &states[i];

		if (!goroutine_exists(g))
			continue;
		if (!goroutine_stands_still(g) || !look_at(c, g)) {
			census->ran[census->running++] = g->g;
			continue;
		}
		census->goroutines++;
		if (!c->found.count)
			continue;
		census->span = c->found.spans[0].address;
		if (tell(c, capture, g))
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
	const struct stack_spans_process process = {target->process, target->binary->go,
						    target->bias, clock_wall_ns()};
	struct look *c = calloc(1, sizeof(*c));
	uint64_t end_ns = clock_monotonic_ns() + budget_ns;
	int error;

	if (!c)
		return -ENOMEM;
	c->target = target;
	c->info = gobinary_get_info(target->binary->go);
	c->words = malloc(STACK_BYTES_MAX);
	error = c->words ? stack_spans_open(&process, &c->search) : -ENOMEM;
	if (!census->left)
		begin_round(census);
	while (census->left && !error && clock_monotonic_ns() < end_ns)
		error = look_at_batch(c, capture, census);
	stack_spans_close(c->search);
	free(c->words);
	free(c);
	return error;
}
