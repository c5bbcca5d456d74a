/* SPDX-License-Identifier: Apache-2.0 */
/* Of the spans that a stack leads to, the one that counts. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "span_candidates.h"

/* The nearest to the leaf whose word is in use. */
static void test_in_use(void **state)
{
	struct fixture *f = *state;

	sample(f, "keeps");
	assert_int_equal(look(f), SPAN_ANSWER_NONE);
	add(f, f->inner, 1, SECOND_NS);
	add(f, f->outer, 2, 9 * SECOND_NS);
	assert_is(f, 1);
	assert_int_equal(f->out.start_wall_ns, f->now_ns - SECOND_NS);
	f->record.candidates[0].trace_flags = 2;
	assert_int_equal(look(f), SPAN_ANSWER_SPAN);
	assert_false(f->out.sight.sampled);
	/* Of another frame, so whichever began later. */
	sample(f, "keeps");
	add(f, f->inner, 1, 9 * SECOND_NS);
	add(f, f->outer, 2, SECOND_NS);
	assert_is(f, 1);
	sample(f, "drops");
	add(f, f->inner, 1, SECOND_NS);
	assert_int_equal(look(f), SPAN_ANSWER_NONE);
	add(f, f->outer, 2, 9 * SECOND_NS);
	assert_is(f, 2);
	sample(f, "counts");
	add(f, f->inner, 1, SECOND_NS);
	add(f, f->outer, 2, 9 * SECOND_NS);
	assert_is(f, 2);
	/* Nothing is known of a stack that was not unwound. */
	f->stack.unwound.goroutine_pc = 0;
	assert_int_equal(look(f), SPAN_ANSWER_NONE);
}

/* What cannot be a span that was open then. */
static void test_implausible(void **state)
{
	struct fixture *f = *state;

	for (int odd = 0; odd < 6; odd++) {
		struct span_candidate *c;

		sample(f, "keeps");
		c = add(f, f->inner, 1, SECOND_NS);
		add(f, f->outer, 2, 9 * SECOND_NS);
		assert_is(f, 1);
		if (odd == 0)
			c->start[1] += 60; /* began later */
		else if (odd == 1)
			c->start[1] -= 366 * 86400;
		else if (odd == 2)
			memset(c->trace_id, 0, sizeof(c->trace_id));
		else if (odd == 3)
			memset(c->span_id, 0, sizeof(c->span_id));
		else if (odd == 4)
			c->name_address = 0;
		else
			c->name_size = 0;
		assert_is(f, 2);
		f->record.sample.candidate_count = 1;
		assert_int_equal(look(f), SPAN_ANSWER_NONE);
	}
	/* Later than the sample, though it is over by now that they are looked at. */
	sample(f, "keeps");
	add(f, f->inner, 1, 50 * SECOND_NS);
	assert_is(f, 1);
	f->record.sample.time_ns -= 100 * SECOND_NS;
	assert_int_equal(look(f), SPAN_ANSWER_NONE);
}

/* One that is sampled out says that the work is no recorded span's. */
static void test_sampled_out(void **state)
{
	struct fixture *f = *state;

	sample(f, "keeps");
	add_unsampled(f, f->inner);
	add(f, f->outer, 2, SECOND_NS);
	assert_int_equal(look(f), SPAN_ANSWER_UNSAMPLED);
	sample(f, "keeps");
	add(f, f->inner, 1, SECOND_NS);
	add_unsampled(f, f->outer);
	assert_is(f, 1);
	sample(f, "drops");
	add_unsampled(f, f->inner);
	add(f, f->outer, 2, SECOND_NS);
	assert_is(f, 2);
	/* In one frame it does not say when it began. */
	for (int first = 0; first < 2; first++) {
		sample(f, "keeps");
		if (first)
			add_unsampled(f, f->inner);
		add(f, f->inner, 1, SECOND_NS);
		if (!first)
			add_unsampled(f, f->inner);
		assert_int_equal(look(f), SPAN_ANSWER_UNSAMPLED);
	}
}

/* Of one frame's spans, the one that began last. */
static void test_in_one_frame(void **state)
{
	struct fixture *f = *state;

	for (int order = 0; order < 3; order++) {
		sample(f, "keeps");
		add(f, f->inner, 1, (3 + order) % 3 * SECOND_NS + SECOND_NS);
		add(f, f->inner, 2, (4 + order) % 3 * SECOND_NS + SECOND_NS);
		add(f, f->inner, 3, (5 + order) % 3 * SECOND_NS + SECOND_NS);
		add(f, f->outer, 4, 0);
		assert_is(f, (uint8_t)((3 - order) % 3 + 1));
	}
}

/* A child of it that is open, in a word that does not show as used; and a child of that one. */
static void test_children(void **state)
{
	struct fixture *f = *state;
	struct span_candidate *c;

	sample(f, "drops");
	c = add(f, f->inner, 1, SECOND_NS); /* grandchild */
	memset(c->parent_id, 2, sizeof(c->parent_id));
	c = add(f, f->inner, 2, 2 * SECOND_NS); /* child */
	memset(c->parent_id, 3, sizeof(c->parent_id));
	add(f, f->outer, 3, 3 * SECOND_NS);
	assert_is(f, 1);
	/* Also of one that says it began before its parent. */
	c->start[1] -= 2;
	assert_is(f, 1);
	c->start[1] += 2;
	/* Not through what is none. */
	memset(c->parent_id, 9, sizeof(c->parent_id));
	assert_is(f, 3);
	/* Not outside of the frame that uses its parent. */
	sample(f, "keeps");
	add(f, f->inner, 1, 3 * SECOND_NS);
	c = add(f, f->outer, 2, SECOND_NS);
	memset(c->parent_id, 1, sizeof(c->parent_id));
	assert_is(f, 1);
	/* A circle ends. */
	sample(f, "keeps");
	for (uint8_t id = 1; id <= 3; id++) {
		c = add(f, f->inner, id, SECOND_NS);
		memset(c->parent_id, id % 3 + 1, sizeof(c->parent_id));
	}
	assert_int_equal(look(f), SPAN_ANSWER_SPAN);
}

/* An older span is known, and gives way to what was begun under it alone. */
static void test_under_an_older_one(void **state)
{
	struct fixture *f = *state;
	struct sample_record *s = &f->record.sample;
	struct span_candidate *child, *grandchild;

	sample(f, "keeps");
	grandchild = add(f, f->inner, 1, SECOND_NS);
	child = add(f, f->outer, 2, 2 * SECOND_NS);
	s->flags = SAMPLE_SPAN;
	s->span.source = SPAN_OLDER;
	memset(s->span.span_id, 3, sizeof(s->span.span_id));
	assert_int_equal(look(f), SPAN_ANSWER_SPAN);
	assert_int_equal(f->out.source, SPAN_OLDER); /* the stack's is another's child */
	assert_int_equal(f->out.sight.span_id[0], 3);
	memset(grandchild->parent_id, 2, sizeof(grandchild->parent_id));
	assert_int_equal(look(f), SPAN_ANSWER_SPAN);
	assert_int_equal(f->out.source, SPAN_OLDER);
	memset(child->parent_id, 3, sizeof(child->parent_id));
	assert_is(f, 1);
	memset(grandchild->parent_id, 3, sizeof(grandchild->parent_id));
	assert_is(f, 1);
	/* Its parent is not: the work may well be done with an outer context. */
	memset(s->span.span_id, 1, sizeof(s->span.span_id));
	memset(grandchild->parent_id, 2, sizeof(grandchild->parent_id));
	assert_int_equal(look(f), SPAN_ANSWER_SPAN);
	assert_int_equal(f->out.source, SPAN_OLDER);
	/* A circle ends. */
	memset(child->parent_id, 1, sizeof(child->parent_id));
	memset(s->span.span_id, 3, sizeof(s->span.span_id));
	assert_int_equal(look(f), SPAN_ANSWER_SPAN);
	assert_int_equal(f->out.source, SPAN_OLDER);
}

/* Labels are behind, and all is, where the record does not hold what it says. */
static void test_other_answers(void **state)
{
	struct fixture *f = *state;
	struct label_values labels = {.span_id_size = 1, .span_id = "7", .decimal = 1};

	sample(f, "keeps");
	add(f, f->inner, 1, SECOND_NS);
	f->record.sample.flags = SAMPLE_SPAN;
	f->record.sample.span.source = SPAN_LABELS;
	memcpy(f->record.sample.span.name, &labels, sizeof(labels));
	assert_is(f, 1);
	f->record.sample.header.size_bytes -= 8;
	assert_int_equal(look(f), SPAN_ANSWER_SPAN);
	assert_int_equal(f->out.source, SPAN_LABELS);
	assert_int_equal(f->out.sight.span_id[7], 7);
	assert_int_equal(f->out.address, 0);
	f->record.sample.header.size_bytes += 8;
	f->record.sample.candidate_count = UINT16_MAX;
	f->record.sample.chain_count = UINT16_MAX;
	f->record.sample.flags = 0;
	assert_int_equal(look(f), SPAN_ANSWER_NONE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_in_use),	      cmocka_unit_test(test_implausible),
		cmocka_unit_test(test_sampled_out),   cmocka_unit_test(test_in_one_frame),
		cmocka_unit_test(test_children),      cmocka_unit_test(test_under_an_older_one),
		cmocka_unit_test(test_other_answers),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
