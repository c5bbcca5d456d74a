/* SPDX-License-Identifier: Apache-2.0 */
/* Spans that a census found on goroutines, beside those whose start was seen, on this kernel. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "fake_program.h"

#define NOBODY 0x7fffffff /* no process has this number */

/* Tells of the first `count` spans of the program, and gives them IDs from 1 on. */
static int add_older(const struct fake_g *g, size_t count)
{
	struct capture_older_span spans[40];

	for (size_t i = 0; i < count; i++) {
		struct fake_span *span = &program->spans[i];

		fake_span_make(span, 0xaa, (uint8_t)(1 + i), "older");
		spans[i].address = ADDRESS(span);
		memcpy(spans[i].span_id, span->context.span_id, sizeof(spans[i].span_id));
	}
	return capture_add_older(program->capture.capture, program->generation, ADDRESS(g), g->goid,
				 spans, count);
}

static void start(struct fake_span *span, uint8_t id, struct fake_g *g)
{
	fake_span_make(span, 0xbb, id, "own");
	fake_start(span, g);
}

/* The innermost that is open, until all have ended. */
static void test_until_they_end(void **state)
{
	struct program *p = program;
	struct fake_span *s = p->spans;
	struct target_counters before = counters();

	assert_int_equal(add_older(&p->g, 3), 0);
	assert_span(sampled(), &s[2], 2, SPAN_OLDER);
	s[1].end_wall = 1;
	assert_span(sampled(), &s[2], 2, SPAN_OLDER);
	s[2].end_wall = 1;
	assert_span(sampled(), &s[0], 0, SPAN_OLDER);
	assert_true(counters().events[EVENT_SAMPLES_OLDER] - before.events[EVENT_SAMPLES_OLDER] >=
		    3);
	s[0].end_wall = 1;
	before = counters();
	assert_no_span(sampled());
	/* Its memory is another span's. */
	assert_int_equal(add_older(&p->g, 1), 0);
	assert_span(sampled(), &s[0], 0, SPAN_OLDER);
	memset(s[0].context.span_id, 0x99, sizeof(s[0].context.span_id));
	assert_no_span(sampled());
}

/* Those that started later lie within them. */
static void test_own_first(void **state)
{
	struct program *p = program;
	struct fake_span *s = p->spans;

	assert_int_equal(add_older(&p->g, 2), 0);
	start(&s[10], 0x10, &p->g);
	assert_span(sampled(), &s[10], 0, SPAN_OWN);
	start(&s[11], 0x11, &p->g);
	assert_span(sampled(), &s[11], 1, SPAN_OWN);
	s[1].end_wall = s[11].end_wall = 1;
	assert_span(sampled(), &s[10], 0, SPAN_OWN);
	s[10].end_wall = 1;
	assert_span(sampled(), &s[0], 0, SPAN_OLDER);
	start(&s[12], 0x12, &p->g);
	assert_span(sampled(), &s[12], 0, SPAN_OWN);
}

static void test_of_this_goroutine_alone(void **state)
{
	struct program *p = program;

	assert_int_equal(add_older(&p->g, 1), 0);
	p->g.goid++; /* the g was given to another one */
	assert_no_span(sampled());
	p->g.goid--;
	run_as(&p->child);
	assert_no_span(sampled());
	run_as(&p->g);
	assert_span(sampled(), &p->spans[0], 0, SPAN_OLDER);
	/* Another image knows nothing of it. */
	begin(state);
	assert_no_span(sampled());
}

/* Of memory that cannot be read only the agent can tell. */
static void test_unreadable(void **state)
{
	struct program *p = program;
	const struct capture_older_span span = {.address = 8, .span_id = {1, 2, 3, 4, 5, 6, 7, 8}};
	const struct sample_record *s;

	assert_int_equal(capture_add_older(p->capture.capture, p->generation, ADDRESS(&p->g),
					   p->g.goid, &span, 1),
			 0);
	s = sampled();
	assert_int_equal(s->flags & (SAMPLE_SPAN | SAMPLE_SPAN_UNREADABLE), SAMPLE_SPAN_UNREADABLE);
	assert_int_equal(s->span.source, SPAN_OLDER);
	assert_int_equal(s->span.address, 8);
	assert_memory_equal(s->span.span_id, span.span_id, 8);
}

/* At a `go` statement they count as the seen ones do, behind those. */
static void test_inherited(void **state)
{
	struct program *p = program;
	struct fake_span *s = p->spans;

	assert_int_equal(add_older(&p->g, 2), 0);
	fake_go(&p->child, &p->g0);
	run_as(&p->child);
	assert_span(sampled(), &s[1], 0, SPAN_INHERITED);
	run_as(&p->g);
	start(&s[10], 0x10, &p->g);
	p->child.goid++;
	fake_go(&p->child, &p->g0);
	run_as(&p->child);
	assert_span(sampled(), &s[10], 0, SPAN_INHERITED);
	s[10].end_wall = s[1].end_wall = 1;
	assert_no_span(sampled());
	run_as(&p->g);
	p->child.goid++;
	fake_go(&p->child, &p->g0);
	run_as(&p->child);
	assert_span(sampled(), &s[0], 0, SPAN_INHERITED);
	s[0].end_wall = 1;
	run_as(&p->g);
	p->child.goid++;
	fake_go(&p->child, &p->g0);
	run_as(&p->child);
	assert_no_span(sampled());
}

/* One that is sampled out hides an older one of another trace, until a child of that starts. */
static void test_hidden(void **state)
{
	static const uint64_t unsampled[4] = {0, 0xbbbb, 0xbbbb, 1};
	struct program *p = program;
	struct fake_span *s = p->spans;
	uint64_t same[4] = {0};

	assert_int_equal(add_older(&p->g, 2), 0);
	memset(&same[1], 0xaa, 16);
	fire_fake_with_value(0, 0, FAKE_UNSAMPLED_TYPE, ADDRESS(same), &p->g);
	assert_span(sampled(), &s[1], 1, SPAN_OLDER);
	fire_fake_with_value(0, 0, FAKE_UNSAMPLED_TYPE, ADDRESS(unsampled), &p->g);
	assert_no_span(sampled());
	assert_int_equal(sampled()->flags & SAMPLE_UNSAMPLED, SAMPLE_UNSAMPLED);
	fake_go(&p->child, &p->g0);
	run_as(&p->child);
	assert_no_span(sampled());
	run_as(&p->g);
	fake_span_make(&s[10], 0xaa, 0x10, "child");
	s[10].parent = s[1].context;
	fake_start(&s[10], &p->g);
	assert_span(sampled(), &s[10], 0, SPAN_OWN);
	s[10].end_wall = 1;
	assert_span(sampled(), &s[1], 1, SPAN_OLDER);
	/* What it hides is over: the one around it is not hidden. */
	fire_fake_with_value(0, 0, FAKE_UNSAMPLED_TYPE, ADDRESS(unsampled), &p->g);
	s[1].end_wall = 1;
	assert_span(sampled(), &s[0], 0, SPAN_OLDER);
	assert_int_equal(sampled()->flags & SAMPLE_UNSAMPLED, 0);
}

/* Of more than are kept, the innermost. */
static void test_depth(void **state)
{
	struct program *p = program;
	struct fake_span *s = p->spans;

	assert_int_equal(add_older(&p->g, 20), 0);
	assert_span(sampled(), &s[19], 15, SPAN_OLDER);
	for (int i = 19; i > 4; i--)
		s[i].end_wall = 1;
	assert_span(sampled(), &s[4], 0, SPAN_OLDER);
	s[4].end_wall = 1;
	assert_no_span(sampled());
	/* A later look replaces what an earlier one found. */
	assert_int_equal(add_older(&p->g, 1), 0);
	assert_span(sampled(), &s[0], 0, SPAN_OLDER);
	assert_int_equal(add_older(&p->g, 0), 0);
	assert_no_span(sampled());
}

/* A full store says so; what it has of an image that is gone makes room. */
static void test_full(void **state)
{
	struct program *p = program;
	struct fake_g others = {.goid = 7};
	struct capture *capture = p->capture.capture;
	uint32_t gone = p->generation + 1000;
	int error = 0;
	size_t count = 0;
	struct target_process target = fake_target(gone);

	assert_int_equal(capture_set_process(capture, NOBODY, &target), 0);
	for (; !error && count < 10000; count++)
		error = capture_add_older(capture, gone, 0xc000000000 + 512 * count, 1,
					  &(struct capture_older_span){.address = 1}, 1);
	assert_int_equal(error, -ENOSPC);
	assert_true(count > 1000); /* of 1,024 */
	assert_int_equal(add_older(&others, 1), -ENOSPC);
	capture_forget_process(capture, NOBODY, gone);
	capture_sweep(capture);
	assert_int_equal(add_older(&p->g, 1), 0);
	assert_span(sampled(), &p->spans[0], 0, SPAN_OLDER);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_until_they_end, begin),
		cmocka_unit_test_setup(test_own_first, begin),
		cmocka_unit_test_setup(test_of_this_goroutine_alone, begin),
		cmocka_unit_test_setup(test_unreadable, begin),
		cmocka_unit_test_setup(test_inherited, begin),
		cmocka_unit_test_setup(test_hidden, begin),
		cmocka_unit_test_setup(test_depth, begin),
		cmocka_unit_test_setup(test_full, begin),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
