/* SPDX-License-Identifier: Apache-2.0 */
/* Spans of the shop that end when they are told to, run and wait. */
#ifndef TESTS_SHOP_WAITS_H
#define TESTS_SHOP_WAITS_H

#include "shop_report.h"

#define MS UINT64_C(1000000)

/* Span `number` of trace `number`, when it was; on a CPU when that is said. */
static inline uint32_t span_at(uint32_t number, const char *name, uint64_t start_ms,
			       uint64_t took_ms)
{
	struct span_end end = {.name = name, .name_size = strlen(name)};
	struct spans *spans = profile_get_spans(shop.profile);

	end.span.resource = shop.shop;
	end.span.sampled = true;
	end.span.ended = true;
	end.span.start_wall_ns = SHOP_START_NS + start_ms * MS;
	end.span.duration_ns = took_ms * MS;
	shop_ids(number, end.span.trace_id, end.span.span_id);
	spans_end(spans, &end, true);
	return spans_count(spans);
}

static inline void run(uint32_t span, uint64_t samples)
{
	shop_add(&shop, shop.shop, span, samples,
		 SHOP_STACK(SHOP_PRIMES, SHOP_CPU_HEAVY, SHOP_HTTP));
}

/* `state` is the stack's leaf; none of ours: no stack is known. */
static inline void stand(uint32_t span, enum profile_wait_kind kind, const char *state, uint64_t ms,
			 enum shop_frame at)
{
	struct location *leaf = calloc(1, sizeof(*leaf) + sizeof(struct frame));
	const struct location *stack[] = {leaf, at < SHOP_FRAMES ? shop.at[at] : NULL,
					  shop.at[SHOP_REPORT]};
	const struct sample_input sample = {stack, at < SHOP_FRAMES ? 3 : 1, false, shop.shop, span,
					    0};

	leaf->id = 1000 + (uint64_t)kind;
	for (const char *c = state; *c; c++) /* one for each state */
		leaf->id = leaf->id * 31 + (uint8_t)*c;
	leaf->kind = FRAME_STATE;
	leaf->frame_count = 1;
	leaf->frames[0] = (struct frame){state, "", 0, 0};
	assert_int_equal(profile_add_wait(shop.profile, &sample, kind, ms * MS), 0);
	free(leaf);
}

static inline void receive(uint32_t span, uint64_t ms)
{
	stand(span, PROFILE_WAIT_PARKED, "[chan receive]", ms, SHOP_SERIALIZE);
}

static inline int open_looked_at(void **state)
{
	open_empty(state);
	profile_set_look_interval(shop.profile, 10 * MS);
	return 0;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, open_looked_at, close_shop)

#endif
