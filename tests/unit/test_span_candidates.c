/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Of the spans that a stack leads to, the one that counts: candidates by words of a program that
 * says which it needs.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <spanprof/record.h>

#include "agent/binary_store.h"
#include "agent/span_sights.h"
#include "agent/targets.h"
#include "parked_stack.h"
#include "unwind/live_words.h"

#define SECOND_NS      1000000000ull
#define SECONDS_1_1970 62135596800ull /* a time with one clock reading counts from the year 1 */
#define WORDS	       3	      /* of stacks, before the candidates */
#define CANDIDATES     8

struct fixture {
	struct parked *program;
	struct parked_stack stack;
	struct binary binary;
	struct target target;
	uint64_t now_ns;
	uint64_t inner, outer; /* words with these objects; used if there is one that is */
	struct {
		struct sample_record sample;
		uint64_t words[WORDS];
		struct span_candidate candidates[CANDIDATES];
	} record;
	struct sampled_span out;
};

static int set_up(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	f->program = parked_start();
	f->binary.go = f->program->binary;
	f->target = (struct target){
		.pid = f->program->pid,
		.process = f->program->process,
		.binary = &f->binary,
	};
	*state = f;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	parked_end(f->program);
	free(f);
	return 0;
}

/* A word of the stack with this object, one in use where there is any. */
static uint64_t slot_of(struct fixture *f, uint64_t object)
{
	uint64_t found = 0;

	for (size_t i = 0; i < f->stack.count; i++) {
		struct live_words words;

		if (f->stack.words[i] != object)
			continue;
		found = f->stack.g->sp + 8 * i;
		live_words_begin(&words, f->program->binary, 0, &f->stack.unwound);
		if (live_words_has(&words, found))
			break;
	}
	assert_true(found);
	return found;
}

/* A sample of this goroutine, without candidates. */
static void sample(struct fixture *f, const char *name)
{
	struct sample_record *s = &f->record.sample;

	parked_stack_read(f->program, name, &f->stack);
	f->inner = slot_of(f, f->stack.line->inner);
	f->outer = slot_of(f, f->stack.line->outer);
	assert_true(f->inner < f->outer);
	memset(&f->record, 0, sizeof(f->record));
	s->header.type = RECORD_SAMPLE;
	s->header.size_bytes = sizeof(*s) + sizeof(f->record.words);
	s->time_ns = clock_monotonic_ns();
	s->chain_count = s->kernel_count = s->stack_count = 1;
	f->now_ns = clock_wall_ns();
}

/* The next candidate: a span that began so long before the sample. */
static struct span_candidate *add(struct fixture *f, uint64_t slot, uint8_t id, uint64_t ago_ns)
{
	struct sample_record *s = &f->record.sample;
	struct span_candidate *c = &f->record.candidates[s->candidate_count++];
	uint64_t start_ns = f->now_ns - ago_ns;

	assert_true(s->candidate_count <= CANDIDATES);
	s->header.size_bytes += sizeof(*c);
	c->slot = slot;
	c->address = 0xc000200000 + id;
	memset(c->trace_id, 0xa0 + id, sizeof(c->trace_id));
	memset(c->span_id, id, sizeof(c->span_id));
	c->start[0] = start_ns % SECOND_NS;
	c->start[1] = start_ns / SECOND_NS + SECONDS_1_1970;
	/* "ELF", of the file's head, which lies below the text */
	c->name_address = (f->program->info->text_start & ~0xfffull) - 0xfff;
	c->name_size = 3;
	c->trace_flags = 1;
	return c;
}

static void add_unsampled(struct fixture *f, uint64_t slot)
{
	struct span_candidate *c = add(f, slot, 0, 0);

	memset(c, 0, sizeof(*c));
	c->slot = slot;
}

static enum span_answer look(struct fixture *f)
{
	span_sight_of_sample(&f->target, &f->record.sample, &f->stack.unwound, &f->out);
	return f->out.answer;
}

static void assert_is(struct fixture *f, uint8_t id)
{
	const struct span_sight *sight = &f->out.sight;

	assert_int_equal(look(f), SPAN_ANSWER_SPAN);
	assert_int_equal(f->out.source, SPAN_ON_STACK);
	for (int i = 0; i < 16; i++)
		assert_int_equal(sight->trace_id[i], 0xa0 + id);
	for (int i = 0; i < 8; i++)
		assert_int_equal(sight->span_id[i], id);
	assert_int_equal(f->out.address, 0xc000200000 + id);
	assert_int_equal(sight->time_ns, f->record.sample.time_ns);
	assert_int_equal(sight->name_size, 3);
	assert_memory_equal(sight->name, "ELF", 3);
	assert_true(sight->sampled);
}

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

/* By what a deferred call keeps: the function's first instruction, not any address in text. */
static void test_deferred(void **state)
{
	struct fixture *f = *state;
	struct pclntab *table = gobinary_get_pclntab(f->program->binary);
	struct go_function function;
	struct span_candidate *c;

	assert_int_equal(pclntab_find_name(table, "main.drops", &function), 0);
	sample(f, "drops");
	c = add(f, f->inner, 1, SECOND_NS);
	add(f, f->outer, 2, 9 * SECOND_NS);
	assert_is(f, 2);
	c->code = function.entry;
	assert_is(f, 1);
	c->code = function.entry + 8;
	assert_is(f, 2);
	c->code = UINT64_MAX;
	assert_is(f, 2);
	c->code = function.entry + 0x10000;
	f->target.bias = 0x10000; /* nothing is known of its stack any more */
	assert_is(f, 1);
	f->target.bias = 0;
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
		cmocka_unit_test(test_in_use),
		cmocka_unit_test(test_deferred),
		cmocka_unit_test(test_implausible),
		cmocka_unit_test(test_sampled_out),
		cmocka_unit_test(test_in_one_frame),
		cmocka_unit_test(test_children),
		cmocka_unit_test(test_under_an_older_one),
		cmocka_unit_test(test_other_answers),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
