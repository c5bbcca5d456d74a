/* SPDX-License-Identifier: Apache-2.0 */
/* Which span a sample is given, on this kernel. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "fake_program.h"

static void test_one_span(void **state)
{
	struct program *p = program;
	struct fake_span *a = &p->spans[0];
	struct target_counters before = counters();
	char name[300];

	assert_no_span(sampled());
	assert_int_equal(sampled()->goid, 41);
	fake_span_make(a, 0xaa, 0x11, "GET /a");
	fake_start(a, &p->g);
	assert_span(sampled(), a, 0, SPAN_OWN);
	assert_int_equal(
		counters().events[EVENT_SPANS_STARTED] - before.events[EVENT_SPANS_STARTED], 1);
	/* The name as it is now; a long one comes in part, with its length. */
	a->name = "GET /users/{id}";
	a->name_size = strlen(a->name);
	a->context.flags = 3;
	assert_span(sampled(), a, 0, SPAN_OWN);
	memset(name, 'n', sizeof(name));
	a->name = name;
	a->name_size = sizeof(name);
	assert_span(sampled(), a, 0, SPAN_OWN);
	a->name_size = 0;
	assert_span(sampled(), a, 0, SPAN_OWN);
	/* Ended: in its memory, no probe tells. */
	a->end_ext = 1;
	assert_no_span(sampled());
	/* The memory was given to another span, which this goroutine did not start. */
	fake_span_make(a, 0xbb, 0x22, "other");
	assert_no_span(sampled());
}

/* Announced once for an image, with its number. */
static void test_first_span(void **state)
{
	struct program *p = program;
	struct fixture *f = &p->capture;

	forget_records(f);
	fake_span_make(&p->spans[0], 1, 1, "a");
	fake_span_make(&p->spans[1], 1, 2, "b");
	fake_start(&p->spans[0], &p->g);
	fake_start(&p->spans[1], &p->g);
	poll_capture(f);
	assert_int_equal(f->first_span_count, 1);
	assert_int_equal(f->first_spans[0].header.type, RECORD_FIRST_SPAN);
	assert_int_equal(f->first_spans[0].pid, getpid());
	assert_int_equal(f->first_spans[0].generation, p->generation);
}

/* Whoever keeps a copy of the store sees that it has changed. */
static void test_version(void **state)
{
	struct capture *c = program->capture.capture;
	struct program *p = program;
	uint64_t version = capture_get_store_version(c), next;
	const struct capture_older_span older = {.address = 8, .span_id = {1}};

	assert_int_equal(capture_get_store_version(c), version);
	fake_span_make(&p->spans[0], 0xaa, 1, "first");
	fake_start(&p->spans[0], &p->g);
	next = capture_get_store_version(c);
	assert_int_not_equal(next, version);
	fake_go(&p->child, &p->g0);
	assert_int_not_equal(capture_get_store_version(c), next);
	next = capture_get_store_version(c);
	assert_int_equal(capture_add_older(c, p->generation, ADDRESS(&p->g), p->g.goid, &older, 1),
			 0);
	assert_int_not_equal(capture_get_store_version(c), next);
	next = capture_get_store_version(c);
	capture_forget_goroutines(c, p->generation);
	assert_int_not_equal(capture_get_store_version(c), next);
}

static void test_nested(void **state)
{
	struct program *p = program;
	struct fake_span *s = p->spans;

	for (uint8_t i = 0; i < 4; i++) {
		fake_span_make(&s[i], 0xaa, 0x10 + i, "level");
		fake_start(&s[i], &p->g);
		assert_span(sampled(), &s[i], i, SPAN_OWN);
	}
	/* The probe's second sight of a span does not count. */
	fake_start(&s[3], &p->g);
	assert_span(sampled(), &s[3], 3, SPAN_OWN);
	/* Ended out of order: the innermost that is open. */
	s[2].end_wall = 1;
	assert_span(sampled(), &s[3], 3, SPAN_OWN);
	s[3].end_wall = 1;
	assert_span(sampled(), &s[1], 1, SPAN_OWN);
	/* A new one takes the place of those that have ended. */
	fake_span_make(&s[4], 0xaa, 0x20, "again");
	fake_start(&s[4], &p->g);
	assert_span(sampled(), &s[4], 2, SPAN_OWN);
	s[4].end_wall = s[1].end_wall = 1;
	assert_span(sampled(), &s[0], 0, SPAN_OWN);
}

/* More than fit: the outermost are forgotten and counted; ended ones go first. */
static void test_depth(void **state)
{
	struct program *p = program;
	struct fake_span *s = p->spans;
	struct target_counters before = counters();

	for (uint8_t i = 0; i < 20; i++) {
		fake_span_make(&s[i], 0xaa, 0x10 + i, "deep");
		fake_start(&s[i], &p->g);
	}
	assert_span(sampled(), &s[19], 15, SPAN_OWN);
	assert_int_equal(counters().lost[LOSS_SPAN_DEPTH] - before.lost[LOSS_SPAN_DEPTH], 4);
	for (int i = 19; i > 4; i--)
		s[i].end_wall = 1;
	assert_span(sampled(), &s[4], 0, SPAN_OWN);
	s[4].end_wall = 1;
	assert_no_span(sampled()); /* s[3] is open, and forgotten */

	/* 16 of which every second has ended: there is room without a loss. */
	before = counters();
	for (uint8_t i = 20; i < 36; i++) {
		fake_span_make(&s[i], 0xbb, 0x40 + i, "deep");
		fake_start(&s[i], &p->g);
	}
	for (int i = 20; i < 35; i += 2)
		s[i].end_wall = 1;
	fake_span_make(&s[36], 0xbb, 0x99, "last");
	fake_start(&s[36], &p->g);
	assert_span(sampled(), &s[36], 8, SPAN_OWN);
	assert_int_equal(counters().lost[LOSS_SPAN_DEPTH], before.lost[LOSS_SPAN_DEPTH]);
}

/* A child works for its creator's innermost span while that is open, and starts its own. */
static void test_inherited(void **state)
{
	struct program *p = program;
	struct fake_span *s = p->spans;
	struct target_counters before = counters();

	fake_span_make(&s[0], 0xaa, 1, "outer");
	fake_span_make(&s[1], 0xaa, 2, "inner");
	fake_span_make(&s[2], 0xaa, 3, "own");
	fake_start(&s[0], &p->g);
	fake_start(&s[1], &p->g);
	s[1].end_wall = 1;
	fake_go(&p->child, &p->g0);
	assert_int_equal(
		counters().events[EVENT_GO_STATEMENTS] - before.events[EVENT_GO_STATEMENTS], 1);
	run_as(&p->child);
	assert_span(sampled(), &s[0], 0, SPAN_INHERITED);
	assert_int_equal(sampled()->goid, 42);
	fake_start(&s[2], &p->child);
	assert_span(sampled(), &s[2], 1, SPAN_OWN);
	s[2].end_wall = 1;
	assert_span(sampled(), &s[0], 0, SPAN_INHERITED);
	s[0].end_wall = 1;
	assert_no_span(sampled());
	run_as(&p->g);
	assert_no_span(sampled());

	/* Of a creator without an open span nothing is inherited. */
	p->child.goid = 43;
	fake_go(&p->child, &p->g0);
	run_as(&p->child);
	assert_no_span(sampled());
}

/* The runtime reuses a g: another goid is another goroutine. */
static void test_reused_goroutine(void **state)
{
	struct program *p = program;
	struct fake_span *s = p->spans;

	fake_span_make(&s[0], 0xaa, 1, "before");
	fake_start(&s[0], &p->g);
	assert_span(sampled(), &s[0], 0, SPAN_OWN);
	p->g.goid = 99;
	assert_no_span(sampled());
	fake_span_make(&s[1], 0xaa, 2, "after");
	fake_start(&s[1], &p->g);
	assert_span(sampled(), &s[1], 0, SPAN_OWN);
}

/* A new image of the process starts with nothing, though addresses and numbers are the same. */
static void test_new_image(void **state)
{
	struct program *p = program;

	fake_span_make(&p->spans[0], 0xaa, 1, "old");
	fake_start(&p->spans[0], &p->g);
	assert_span(sampled(), &p->spans[0], 0, SPAN_OWN);
	capture_forget_process(p->capture.capture, getpid(), p->generation);
	begin(state);
	assert_no_span(sampled());
	capture_sweep(p->capture.capture);
	fake_start(&p->spans[0], &p->g);
	assert_span(sampled(), &p->spans[0], 0, SPAN_OWN);
}

/* The prologue's branch to morestack: the function will be entered again. */
static void test_growing_stack(void **state)
{
	struct program *p = program;
	struct target_process target = fake_target(p->generation);

	fake_span_make(&p->spans[0], 0xaa, 1, "grows");
	target.flags |= TARGET_START_ON_BRANCH;
	assert_int_equal(capture_set_process(p->capture.capture, getpid(), &target), 0);
	fire_fake_growing_stack(ADDRESS(&p->spans[0]), 0, 0, 0, &p->g);
	assert_no_span(sampled());
	fake_start(&p->spans[0], &p->g);
	assert_span(sampled(), &p->spans[0], 0, SPAN_OWN);
}

/* The other start probe: a value in an interface, told by its type. */
static void test_with_value(void **state)
{
	struct program *p = program;
	struct fake_span *s = p->spans;

	fake_span_make(&s[0], 0xaa, 1, "not a span");
	fake_span_make(&s[1], 0xaa, 2, "span");
	fire_fake_with_value(0, 0, 0xbad, ADDRESS(&s[0]), &p->g);
	assert_no_span(sampled());
	fire_fake_with_value(0, 0, FAKE_SPAN_TYPE, ADDRESS(&s[1]), &p->g);
	assert_span(sampled(), &s[1], 0, SPAN_OWN);
}

/* The last resort: what is returned is an interface, whose table names the type. */
static void test_start_return(void **state)
{
	static const uint64_t unsampled[4] = {0, 0xbbbb, 0xbbbb, 1};
	struct program *p = program;
	struct fake_span *s = p->spans;
	uint64_t itab[4] = {0x1000, 0xbad, 0, 0};
	struct target_counters before = counters();

	fake_span_make(&s[0], 0xaa, 1, "span");
	fire_fake_start_return(ADDRESS(itab), ADDRESS(&s[0]), &p->g);
	assert_no_span(sampled());
	fire_fake_start_return(8, ADDRESS(&s[0]), &p->g);
	assert_no_span(sampled());
	itab[1] = FAKE_SPAN_TYPE;
	fire_fake_start_return(ADDRESS(itab), ADDRESS(&s[0]), &p->g);
	assert_span(sampled(), &s[0], 0, SPAN_OWN);
	itab[1] = FAKE_UNSAMPLED_TYPE;
	fire_fake_start_return(ADDRESS(itab), ADDRESS(unsampled), &p->g);
	assert_int_equal(sampled()->flags & (SAMPLE_SPAN | SAMPLE_UNSAMPLED), SAMPLE_UNSAMPLED);
	assert_int_equal(
		counters().events[EVENT_SPANS_STARTED] - before.events[EVENT_SPANS_STARTED], 1);
	assert_int_equal(
		counters().events[EVENT_SPANS_UNSAMPLED] - before.events[EVENT_SPANS_UNSAMPLED], 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_one_span, begin),
		cmocka_unit_test_setup(test_first_span, begin),
		cmocka_unit_test_setup(test_version, begin),
		cmocka_unit_test_setup(test_nested, begin),
		cmocka_unit_test_setup(test_depth, begin),
		cmocka_unit_test_setup(test_inherited, begin),
		cmocka_unit_test_setup(test_reused_goroutine, begin),
		cmocka_unit_test_setup(test_new_image, begin),
		cmocka_unit_test_setup(test_growing_stack, begin),
		cmocka_unit_test_setup(test_with_value, begin),
		cmocka_unit_test_setup(test_start_return, begin),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
