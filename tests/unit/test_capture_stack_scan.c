/* SPDX-License-Identifier: Apache-2.0 */
/* Spans that a goroutine's stack leads to, on this kernel. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "fake_heap.h"

#define SCANNED	 1024 /* words of a stack that are looked at */
#define FOLLOWED 127  /* of them, those that may lead somewhere */
#define LINKS	 16

/* The candidates of a sample taken now; their number is checked. */
static const struct span_candidate *candidates(size_t count)
{
	const struct whole_sample *s = &program->capture.first;
	size_t words;

	sampled();
	assert_no_span(&s->sample);
	assert_int_equal(s->sample.candidate_count, count);
	words = (size_t)s->sample.chain_count + s->sample.curg_count + s->sample.kernel_count +
		s->sample.stack_count + s->sample.curg_stack_count;
	assert_int_equal(s->sample.header.size_bytes,
			 sizeof(s->sample) + 8 * words + count * sizeof(struct span_candidate));
	return (const struct span_candidate *)(s->words + words);
}

static void assert_candidate(const struct span_candidate *c, const uint64_t *slot,
			     const struct fake_span *span)
{
	assert_int_equal(c->slot, ADDRESS(slot));
	assert_int_equal(c->address, ADDRESS(span));
	assert_memory_equal(c->trace_id, span->context.trace_id, 16);
	assert_memory_equal(c->span_id, span->context.span_id, 8);
	assert_memory_equal(c->parent_id, span->parent.span_id, 8);
	assert_int_equal(c->start[0], span->start_wall);
	assert_int_equal(c->start[1], span->start_ext);
	assert_int_equal(c->name_address, ADDRESS(span->name));
	assert_int_equal(c->name_size, span->name_size);
	assert_int_equal(c->trace_flags, span->context.flags);
}

static void assert_unsampled(const struct span_candidate *c, const uint64_t *slot)
{
	const struct span_candidate expected = {.slot = ADDRESS(slot)};

	assert_memory_equal(c, &expected, sizeof(expected));
}

static void put(size_t place, const void *pointer)
{
	heap->stack[place] = ADDRESS(pointer);
}

/* One word alone that leads to the span. */
static void assert_leads_to(size_t place, const struct fake_span *span)
{
	assert_candidate(candidates(1), &heap->stack[place], span);
}

static void test_contexts(void **state)
{
	struct fake_span *s = heap->spans;
	struct target_counters before = counters();

	candidates(0);
	assert_int_equal(sampled()->g, ADDRESS(&heap->g));
	assert_int_equal(counters().events[EVENT_SAMPLES_WITH_CANDIDATES],
			 before.events[EVENT_SAMPLES_WITH_CANDIDATES]);
	/* The context itself, then one that can be cancelled, one with another value, both. */
	put(7, with_span(0, &s[0]));
	assert_leads_to(7, &s[0]);
	put(7, with_cancel(1));
	assert_leads_to(7, &s[0]);
	put(7, with_value(1, 0x5ca1ab150, heap->junk));
	assert_leads_to(7, &s[0]);
	put(7, with_cancel(2));
	assert_leads_to(7, &s[0]);
	/* The nearest one. */
	put(7, with_span(3, &s[1]));
	assert_leads_to(7, &s[1]);
	assert_true(counters().events[EVENT_SAMPLES_WITH_CANDIDATES] -
			    before.events[EVENT_SAMPLES_WITH_CANDIDATES] >=
		    5);
	/* A name that is longer than a record tells, and flags of which one bit counts. */
	s[1].name_size = 0x123456;
	s[1].context.flags = 7;
	assert_int_equal(candidates(1)->name_size, 0xffff);
	assert_int_equal(candidates(1)->trace_flags, 7);
	/* What the SDK's version does not tell. */
	struct target_process target = fake_target(program->generation);
	target.span.parent_id = TARGET_SPAN_NO_FIELD;
	assert_int_equal(capture_set_process(program->capture.capture, getpid(), &target), 0);
	memset(s[1].parent.span_id, 0, sizeof(s[1].parent.span_id));
	memset(s[1].rest, 0xee, sizeof(s[1].rest)); /* what stands where no field is */
	s[1].name_size = 10;
	assert_leads_to(7, &s[1]);
}

/* As far as that many contexts, and only through those of package context. */
static void test_links(void **state)
{
	struct fake_span *s = heap->spans;

	with_span(0, &s[0]);
	for (size_t i = 1; i < LINKS; i++)
		put(9, with_cancel(i));
	assert_leads_to(9, &s[0]);
	put(9, with_cancel(LINKS));
	candidates(0);
	put(9, with_cancel(1));
	assert_leads_to(9, &s[0]);
	heap->contexts[1].parent_itab = FAKE_CANCEL_ITAB;
	assert_leads_to(9, &s[0]);
	heap->contexts[1].parent_itab = FAKE_CANCEL_ITAB - 8;
	candidates(0);
	heap->contexts[1].parent_itab = FAKE_VALUE_ITAB + 1;
	candidates(0);
	heap->contexts[1].parent_itab = FAKE_VALUE_ITAB;
	heap->contexts[1].parent = (void *)8;
	candidates(0);
	heap->contexts[1].parent = &heap->contexts[1]; /* a circle */
	candidates(0);
}

/* An end does not show there, so it is told of; it hides what it lies in. */
static void test_sampled_out(void **state)
{
	struct fake_span *s = heap->spans;

	with_span(0, &s[0]);
	with_value(1, FAKE_UNSAMPLED_TYPE, &s[7]);
	put(5, with_cancel(2));
	assert_unsampled(candidates(1), &heap->stack[5]);
	put(8, &heap->contexts[0]);
	assert_unsampled(candidates(2), &heap->stack[5]);
	assert_candidate(candidates(2) + 1, &heap->stack[8], &s[0]);
	/* And the other way round. */
	put(5, with_span(3, &s[1]));
	assert_candidate(candidates(2), &heap->stack[5], &s[1]);
}

/* Only those that are open and have an ID. */
static void test_ended(void **state)
{
	struct fake_span *s = heap->spans;

	put(3, with_span(0, &s[0]));
	put(4, with_span(1, &s[1]));
	s[1].end_wall = 1;
	assert_leads_to(3, &s[0]); /* the outer one by its own word alone */
	s[0].end_ext = 1;
	candidates(0);
	s[0].end_ext = 0;
	memset(s[0].context.span_id, 0, sizeof(s[0].context.span_id));
	candidates(0);
	heap->contexts[0].value = (void *)8;
	candidates(0);
}

/* A span of which nothing says that it is one: it must look like it. */
static void test_bare_pointer(void **state)
{
	struct fake_span *span = &heap->spans[0], good = *span;

	put(3, span);
	assert_leads_to(3, span);
#define CHANGED(field, to, count)                                                                  \
	span->field = to;                                                                          \
	candidates(count);                                                                         \
	*span = good
	CHANGED(other[0], 1, 0); /* begins with zeroes */
	CHANGED(end_wall, 1, 0);
	CHANGED(end_ext, 1, 0);
	CHANGED(start_wall, good.start_wall & ~(1ull << 63), 0);  /* one clock only */
	CHANGED(start_wall, 1ull << 63 | 4260124800ull << 30, 0); /* 2020 begins */
	CHANGED(start_wall, 1ull << 63 | 4260124801ull << 30 | 5, 1);
	CHANGED(start_wall, 1ull << 63 | 7415884799ull << 30 | 5, 1);
	CHANGED(start_wall, 1ull << 63 | 7415884800ull << 30, 0); /* 2120 begins */
	CHANGED(name, NULL, 0);
	CHANGED(name, (char *)8, 1); /* for the agent to find out */
	CHANGED(name_size, 0, 0);
	CHANGED(name_size, 65535, 1);
	CHANGED(name_size, 65536, 0);
	CHANGED(context.flags, 7, 1);
	CHANGED(context.flags, 8, 0);
#undef CHANGED
	memset(span->context.trace_id, 0, 8);
	candidates(0);
	*span = good;
	memset(span->context.span_id, 0, 8);
	candidates(0);
	/* That a context leads to it says what it is. */
	*span = good;
	span->start_wall = 5;
	put(3, with_span(0, span));
	assert_leads_to(3, span);
}

/* A deferred call's function, as far as it can be told here. */
static void test_deferred(void **state)
{
	struct program *p = program;
	struct fake_span *s = heap->spans;
	struct target_process target = fake_target(p->generation);

	target.itabs.span = FAKE_VALUE_ITAB;
	target.text_start = 0x401000;
	target.text_end = 0x402000;
	assert_int_equal(capture_set_process(p->capture.capture, getpid(), &target), 0);
	put(5, &s[0]);
	heap->stack[4] = FAKE_VALUE_ITAB;
#define CODE(word, expected)                                                                       \
	heap->stack[3] = word;                                                                     \
	assert_int_equal(candidates(1)->code, expected)
	CODE(0x401000, 0x401000);
	CODE(0x401fff, 0x401fff);
	CODE(0x402000, 0);
	CODE(0x400fff, 0);
	CODE(0, 0);
	heap->stack[4] = FAKE_CANCEL_ITAB;
	CODE(0x401000, 0);
	/* Of the span itself, not of a context. */
	heap->stack[4] = FAKE_VALUE_ITAB;
	put(5, with_span(0, &s[0]));
	CODE(0x401000, 0);
	/* Where the stack begins. */
	heap->stack[5] = 0;
	put(1, &s[0]);
	heap->stack[0] = FAKE_VALUE_ITAB;
	assert_int_equal(candidates(1)->code, 0);
#undef CODE
}

/* From the leaf outward; no more than a record has room for. */
static void test_order(void **state)
{
	struct fake_span *s = heap->spans;
	const struct span_candidate *c;

	put(100, with_span(0, &s[0]));
	put(20, with_span(1, &s[1]));
	put(21, &s[2]);
	c = candidates(3);
	assert_candidate(&c[0], &heap->stack[20], &s[1]);
	assert_candidate(&c[1], &heap->stack[21], &s[2]);
	assert_candidate(&c[2], &heap->stack[100], &s[0]);
	for (size_t i = 0; i < RECORD_CANDIDATES_MAX + 3; i++)
		put(30 + 2 * i, &s[3]);
	c = candidates(RECORD_CANDIDATES_MAX);
	assert_candidate(&c[1], &heap->stack[21], &s[2]);
	for (size_t i = 2; i < RECORD_CANDIDATES_MAX; i++)
		assert_candidate(&c[i], &heap->stack[30 + 2 * (i - 2)], &s[3]);
}

/* From SP to the end of the stack, and no further than so many words. */
static void test_limits(void **state)
{
	struct fake_span *s = heap->spans;

	with_span(0, &s[0]);
	put(SCANNED, &heap->contexts[0]);
	candidates(0);
	put(SCANNED - 1, &heap->contexts[0]);
	assert_leads_to(SCANNED - 1, &s[0]);
	heap->g.stack_hi = ADDRESS(&heap->stack[SCANNED]);
	assert_leads_to(SCANNED - 1, &s[0]);
	heap->g.stack_hi -= 8;
	candidates(0);
	heap->g.stack_hi = heap->g.sched_sp;
	candidates(0);
	heap->g.stack_hi = heap->g.sched_sp - 8;
	candidates(0);
	heap->g.stack_hi = UINT64_MAX; /* a hostile one: what can be read */
	assert_leads_to(SCANNED - 1, &s[0]);
	heap->g.stack_hi = ADDRESS(heap->stack + STACK_WORDS);
	put(0, &s[1]);
	candidates(2);
	heap->g.sched_sp += 8;
	candidates(2);
	assert_candidate(candidates(2), &heap->stack[SCANNED - 1], &s[0]);
	heap->stack[SCANNED - 1] = 0;
	assert_leads_to(SCANNED, &s[0]);
	heap->g.sched_sp += 4;
	memcpy((uint8_t *)heap->stack + 4 + 80, &heap->stack[SCANNED], 8);
	candidates(0);
	heap->g.sched_sp = 8;
	candidates(0);
}

/* Words that cannot point to a context or span are not followed; of the others so many. */
static void test_words_followed(void **state)
{
	struct fake_span *s = heap->spans;

	put(FOLLOWED, with_span(0, &s[0]));
	for (size_t i = 0; i < FOLLOWED; i++)
		put(i, heap->junk + 1); /* no pointer */
	assert_leads_to(FOLLOWED, &s[0]);
	for (size_t i = 0; i < FOLLOWED; i++)
		put(i, &heap->stack[i / 2]); /* into the stack itself */
	assert_leads_to(FOLLOWED, &s[0]);
	for (size_t i = 0; i < FOLLOWED; i++)
		heap->stack[i] = ADDRESS(heap->junk) ^ 1ull << 36; /* elsewhere */
	assert_leads_to(FOLLOWED, &s[0]);
	for (size_t i = 1; i < FOLLOWED; i++)
		put(i, heap->junk);
	assert_leads_to(FOLLOWED, &s[0]);
	put(0, heap->junk);
	candidates(0);
	put(0, &s[1]);
	assert_leads_to(0, &s[1]);
}

/* Where the store knows, or where it is not known what to look for, nobody looks. */
static void test_not_looked_for(void **state)
{
	static const uint64_t unsampled[4] = {0, 0xbbbb, 0xbbbb, 1};
	struct program *p = program;
	struct fake_span *s = heap->spans;
	struct target_process target = fake_target(p->generation);

	put(3, with_span(0, &s[0]));
	fake_start(&s[1], &heap->g);
	assert_span(sampled(), &s[1], 0, SPAN_OWN);
	assert_int_equal(p->capture.first.sample.candidate_count, 0);
	fire_fake_with_value(0, 0, FAKE_UNSAMPLED_TYPE, ADDRESS(unsampled), &heap->g);
	candidates(0);
	s[1].end_wall = 1;
	assert_leads_to(3, &s[0]);
	target.itabs.end = 0;
	assert_int_equal(capture_set_process(p->capture.capture, getpid(), &target), 0);
	candidates(0);
	target = fake_target(p->generation);
	target.flags &= ~TARGET_SPANS;
	assert_int_equal(capture_set_process(p->capture.capture, getpid(), &target), 0);
	candidates(0);
}

/* As long as no span was seen to start, an older one is not all that there may be. */
static void test_beside_an_older_span(void **state)
{
	struct program *p = program;
	struct fake_span *s = heap->spans;
	const struct whole_sample *first = &p->capture.first;
	struct capture_older_span older = {.address = ADDRESS(&s[0])};

	memcpy(older.span_id, s[0].context.span_id, sizeof(older.span_id));
	assert_int_equal(capture_add_older(p->capture.capture, p->generation, ADDRESS(&heap->g),
					   heap->g.goid, &older, 1),
			 0);
	put(3, with_span(0, &s[1]));
	assert_span(sampled(), &s[0], 0, SPAN_OLDER);
	assert_int_equal(first->sample.candidate_count, 1);
	fake_start(&s[2], &p->g);
	assert_span(sampled(), &s[0], 0, SPAN_OLDER);
	assert_int_equal(first->sample.candidate_count, 0);
}

/* On the goroutine's own stack, which is this thread's: from SP on. */
static void test_running(void **state)
{
	volatile uint64_t words[4] = {0};
	const struct span_candidate *c;

	words[2] = ADDRESS(with_span(0, &heap->spans[0]));
	fake_current_g = &heap->g;
	heap->g.stack_hi = ADDRESS(words + 4);
	c = candidates(1);
	assert_candidate(c, (const uint64_t *)&words[2], &heap->spans[0]);
	assert_true(c->slot > program->capture.first.sample.sp);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_contexts, begin_heap),
		cmocka_unit_test_setup(test_links, begin_heap),
		cmocka_unit_test_setup(test_sampled_out, begin_heap),
		cmocka_unit_test_setup(test_ended, begin_heap),
		cmocka_unit_test_setup(test_bare_pointer, begin_heap),
		cmocka_unit_test_setup(test_deferred, begin_heap),
		cmocka_unit_test_setup(test_order, begin_heap),
		cmocka_unit_test_setup(test_limits, begin_heap),
		cmocka_unit_test_setup(test_words_followed, begin_heap),
		cmocka_unit_test_setup(test_not_looked_for, begin_heap),
		cmocka_unit_test_setup(test_beside_an_older_span, begin_heap),
		cmocka_unit_test_setup(test_running, begin_heap),
	};

	return cmocka_run_group_tests(tests, set_up_heap, tear_down_heap);
}
