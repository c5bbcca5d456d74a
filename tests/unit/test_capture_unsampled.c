/* SPDX-License-Identifier: Apache-2.0 */
/* Spans that are sampled out, beside those that are not, on this kernel. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "fake_program.h"

/* nonRecordingSpan. */
struct unsampled_span {
	uint64_t tracer;
	struct fake_context context;
};

static struct unsampled_span unsampled;

/* The start of a span that is sampled out, of the given trace. */
static void start_unsampled(uint8_t trace, struct fake_g *g)
{
	memset(unsampled.context.trace_id, trace, sizeof(unsampled.context.trace_id));
	memset(unsampled.context.span_id, 0x77, sizeof(unsampled.context.span_id));
	fire_fake_with_value(0, 0, FAKE_UNSAMPLED_TYPE, ADDRESS(&unsampled), g);
}

static void start(struct fake_span *span, uint8_t trace, uint8_t id, struct fake_g *g)
{
	fake_span_make(span, trace, id, "span");
	fake_start(span, g);
}

static void start_child(struct fake_span *span, const struct fake_span *parent, uint8_t id,
			struct fake_g *g)
{
	fake_span_make(span, parent->context.trace_id[0], id, "child");
	span->parent = parent->context;
	fake_start(span, g);
}

static void assert_hidden(void)
{
	const struct sample_record *s = sampled();

	assert_no_span(s);
	assert_int_equal(s->flags & SAMPLE_UNSAMPLED, SAMPLE_UNSAMPLED);
}

static void assert_nothing(void)
{
	const struct sample_record *s = sampled();

	assert_no_span(s);
	assert_int_equal(s->flags & SAMPLE_UNSAMPLED, 0);
}

/* An outer span of another trace does not stand for it; one of its own trace does. */
static void test_hides(void **state)
{
	struct program *p = program;
	struct fake_span *s = p->spans;
	struct target_counters before = counters();

	start(&s[0], 0xaa, 1, &p->g);
	start_unsampled(0xaa, &p->g);
	assert_span(sampled(), &s[0], 0, SPAN_OWN);
	assert_int_equal(counters().events[EVENT_SAMPLES_UNSAMPLED],
			 before.events[EVENT_SAMPLES_UNSAMPLED]);
	start_unsampled(0xbb, &p->g);
	assert_hidden();
	assert_true(counters().events[EVENT_SAMPLES_UNSAMPLED] >
		    before.events[EVENT_SAMPLES_UNSAMPLED]);
	assert_int_equal(
		counters().events[EVENT_SPANS_UNSAMPLED] - before.events[EVENT_SPANS_UNSAMPLED], 2);
	assert_int_equal(
		counters().events[EVENT_SPANS_STARTED] - before.events[EVENT_SPANS_STARTED], 1);
	/* Two traces that differ in a byte at either end. */
	begin(state);
	start(&s[0], 0xaa, 1, &p->g);
	unsampled.context.trace_id[15] = 0xab;
	memset(unsampled.context.trace_id, 0xaa, 15);
	fire_fake_with_value(0, 0, FAKE_UNSAMPLED_TYPE, ADDRESS(&unsampled), &p->g);
	assert_hidden();
	begin(state);
	start(&s[0], 0xaa, 1, &p->g);
	unsampled.context.trace_id[15] = 0xaa;
	unsampled.context.trace_id[0] = 0xab;
	fire_fake_with_value(0, 0, FAKE_UNSAMPLED_TYPE, ADDRESS(&unsampled), &p->g);
	assert_hidden();
}

static void test_counts_of_the_process(void **state)
{
	struct program *p = program;
	struct capture_process_counts counts;

	start(&p->spans[0], 0xaa, 1, &p->g);
	for (int i = 0; i < 3; i++)
		start_unsampled(0xbb, &p->g);
	assert_true(capture_get_counts(p->capture.capture, getpid(), p->generation, &counts));
	assert_int_equal(counts.spans_started, 1);
	assert_int_equal(counts.spans_unsampled, 3);
	assert_int_equal(counts.go_statements, 0);
}

/* Its end does not show: a child of the outer span tells that the goroutine is back there. */
static void test_back(void **state)
{
	struct program *p = program;
	struct fake_span *s = p->spans;

	start(&s[0], 0xaa, 1, &p->g);
	for (int i = 0; i < 20; i++) /* once is enough, however often */
		start_unsampled(0xbb, &p->g);
	assert_hidden();
	start_child(&s[1], &s[0], 2, &p->g);
	assert_span(sampled(), &s[1], 1, SPAN_OWN);
	s[1].end_wall = 1;
	assert_span(sampled(), &s[0], 0, SPAN_OWN);
	start_unsampled(0xcc, &p->g);
	assert_hidden();
}

/* A span that is no child of it runs within what is sampled out. */
static void test_not_back(void **state)
{
	struct program *p = program;
	struct target_process target = fake_target(p->generation);
	struct fake_span *s = p->spans;

	start(&s[0], 0xaa, 1, &p->g);
	start_unsampled(0xbb, &p->g);
	start(&s[1], 0xcc, 2, &p->g);
	assert_span(sampled(), &s[1], 2, SPAN_OWN);
	/* Within that one, another that is sampled out, and a child of the first. */
	start_unsampled(0xdd, &p->g);
	assert_hidden();
	start_child(&s[2], &s[0], 3, &p->g);
	assert_span(sampled(), &s[2], 4, SPAN_OWN);
	s[2].end_wall = 1;
	assert_hidden();
	s[1].end_wall = 1;
	assert_hidden(); /* the first one, still */
	/* Where the parent of a span is not known, nothing tells. */
	begin(state);
	target = fake_target(p->generation);
	target.span.parent_id = TARGET_SPAN_NO_FIELD;
	assert_int_equal(capture_set_process(p->capture.capture, getpid(), &target), 0);
	start(&s[0], 0xaa, 1, &p->g);
	start_unsampled(0xbb, &p->g);
	fake_span_make(&s[1], 0xaa, 2, "child");
	s[1].parent = s[0].context;
	/* What stands where no field is. */
	memcpy((uint8_t *)&s[1] + target.span.window + TARGET_SPAN_NO_FIELD, s[0].context.span_id,
	       8);
	fake_start(&s[1], &p->g);
	assert_span(sampled(), &s[1], 2, SPAN_OWN);
	s[1].end_wall = 1;
	assert_hidden();
}

/* It hides nothing that is over, and is itself no more. */
static void test_outer_ends(void **state)
{
	struct program *p = program;
	struct fake_span *s = p->spans;

	start(&s[0], 0xaa, 1, &p->g);
	start(&s[1], 0xaa, 2, &p->g);
	start_unsampled(0xbb, &p->g);
	assert_hidden();
	s[1].end_wall = 1;
	assert_span(sampled(), &s[0], 0, SPAN_OWN);
	s[0].end_wall = 1;
	assert_nothing();
	/* Nor is there anything to hide where no span is open. */
	start_unsampled(0xbb, &p->g);
	assert_nothing();
	start(&s[2], 0xcc, 3, &p->g);
	assert_span(sampled(), &s[2], 0, SPAN_OWN);
}

/* What a goroutine makes while it works for a span that is sampled out works for that, too. */
static void test_children(void **state)
{
	struct program *p = program;
	struct fake_span *s = p->spans;

	start(&s[0], 0xaa, 1, &p->g);
	start_unsampled(0xbb, &p->g);
	fake_go(&p->child, &p->g0);
	run_as(&p->child);
	assert_nothing();
	run_as(&p->g);
	start_child(&s[1], &s[0], 2, &p->g);
	s[1].end_wall = 1;
	p->child.goid++;
	fake_go(&p->child, &p->g0);
	run_as(&p->child);
	assert_span(sampled(), &s[0], 0, SPAN_INHERITED);
	/* The child's own that is sampled out hides what it inherited. */
	start_unsampled(0xbb, &p->child);
	assert_hidden();
	run_as(&p->g);
	assert_span(sampled(), &s[0], 0, SPAN_OWN);
	run_as(&p->child);
	start_child(&s[2], &s[0], 3, &p->child);
	s[2].end_wall = 1;
	assert_span(sampled(), &s[0], 0, SPAN_INHERITED);
}

/* Of an image that does not run yet, only the lower bits of the types are known. */
static void test_known_in_part(void **state)
{
	struct program *p = program;
	struct target_process target = fake_target(p->generation);
	struct fake_span *s = p->spans;

	target.type_mask = 0xfff;
	assert_int_equal(capture_set_process(p->capture.capture, getpid(), &target), 0);
	fake_span_make(&s[0], 0xaa, 1, "moved");
	fire_fake_with_value(0, 0, FAKE_SPAN_TYPE + 0x555000, ADDRESS(&s[0]), &p->g);
	assert_span(sampled(), &s[0], 0, SPAN_OWN);
	memset(unsampled.context.trace_id, 0xbb, sizeof(unsampled.context.trace_id));
	fire_fake_with_value(0, 0, FAKE_UNSAMPLED_TYPE + 0x555010, ADDRESS(&unsampled), &p->g);
	assert_span(sampled(), &s[0], 0, SPAN_OWN);
	fire_fake_with_value(0, 0, FAKE_UNSAMPLED_TYPE + 0x555000, ADDRESS(&unsampled), &p->g);
	assert_hidden();
}

/* Of which trace it is cannot be read, or not which goroutine started it. */
static void test_unreadable(void **state)
{
	struct program *p = program;
	struct fake_span *s = p->spans;

	start(&s[0], 0xaa, 1, &p->g);
	fire_fake_with_value(0, 0, FAKE_UNSAMPLED_TYPE, 8, &p->g);
	assert_span(sampled(), &s[0], 0, SPAN_OWN);
	start_unsampled(0xbb, NULL);
	assert_span(sampled(), &s[0], 0, SPAN_OWN);
	p->g.goid++;
	start_unsampled(0xbb, &p->g); /* another goroutine, which has no span */
	p->g.goid--;
	assert_span(sampled(), &s[0], 0, SPAN_OWN);
}

/* An older span, which the census found, does not stand for it either; and it comes back. */
static void test_older(void **state)
{
	struct program *p = program;
	struct fake_span *s = p->spans;
	struct capture_older_span older = {.address = ADDRESS(&s[0])};

	fake_span_make(&s[0], 0xaa, 1, "older");
	memcpy(older.span_id, s[0].context.span_id, sizeof(older.span_id));
	assert_int_equal(capture_add_older(p->capture.capture, p->generation, ADDRESS(&p->g),
					   p->g.goid, &older, 1),
			 0);
	assert_span(sampled(), &s[0], 0, SPAN_OLDER);
	start_unsampled(0xaa, &p->g);
	assert_span(sampled(), &s[0], 0, SPAN_OLDER);
	start_unsampled(0xbb, &p->g);
	assert_hidden();
	fake_go(&p->child, &p->g0);
	run_as(&p->child);
	assert_nothing();
	run_as(&p->g);
	start_child(&s[1], &s[0], 2, &p->g);
	assert_span(sampled(), &s[1], 0, SPAN_OWN);
	s[1].end_wall = 1;
	assert_span(sampled(), &s[0], 0, SPAN_OLDER);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_hides, begin),
		cmocka_unit_test_setup(test_counts_of_the_process, begin),
		cmocka_unit_test_setup(test_back, begin),
		cmocka_unit_test_setup(test_not_back, begin),
		cmocka_unit_test_setup(test_outer_ends, begin),
		cmocka_unit_test_setup(test_children, begin),
		cmocka_unit_test_setup(test_known_in_part, begin),
		cmocka_unit_test_setup(test_unreadable, begin),
		cmocka_unit_test_setup(test_older, begin),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
