/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which words of a sampled stack are in use: those of a program that says which objects it needs,
 * sampled where it stands still, and where it would go on.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "parked_stack.h"
#include "unwind/live_words.h"

#define BIAS 0x5500000000

struct fixture {
	struct parked *program;
	struct parked_stack stack;
	struct unwound_stack sampled;
};

static int set_up(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	f->program = parked_start();
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

/* As unwind_sample leaves a stack whose goroutine was left in gopark; two frames lie before. */
static void sample_parked(struct fixture *f, uint64_t bias)
{
	struct unwound_stack *u = &f->sampled;

	*u = f->stack.unwound;
	memset(u->pcs, 0xff, sizeof(u->pcs));
	u->kernel_count = 1;
	u->goroutine_pc += bias;
	u->goroutine_at = 2;
	u->count = f->stack.unwound.count + 2;
	for (uint32_t i = 0; i < f->stack.unwound.count; i++)
		u->pcs[i + 2] = f->stack.unwound.pcs[i] + bias;
}

/* As of one that executes behind a call, in one of the outer frames. */
static void sample_running(struct fixture *f, uint32_t frame)
{
	struct unwound_stack *u = &f->sampled;

	*u = f->stack.unwound;
	u->goroutine_pc = u->pcs[frame];
	u->goroutine_sp = f->stack.starts[frame + 1];
	u->goroutine_exact = true;
	u->goroutine_at = frame + 1;
}

/* How many words that hold an address are in use. */
struct found {
	size_t inner, outer, others;
};

/* Asks for all words from `sp` on, in order. */
static struct found ask(struct fixture *f, uint64_t bias, uint64_t sp)
{
	struct found found = {0};
	struct live_words words;

	live_words_begin(&words, f->program->binary, bias, &f->sampled);
	for (uint64_t at = sp; (at - f->stack.g->sp) / 8 < f->stack.count; at += 8) {
		uint64_t word = parked_word(&f->stack, at);

		if (!live_words_has(&words, at))
			continue;
		if (word == f->stack.line->inner)
			found.inner++;
		else if (word == f->stack.line->outer)
			found.outer++;
		else
			found.others++;
	}
	return found;
}

static void check_case(struct fixture *f, const struct parked_case *c, struct found found)
{
	assert_int_equal(found.inner > 0, c->inner);
	assert_int_equal(found.outer > 0, c->outer);
}

static void test_where_it_stands(void **state)
{
	struct fixture *f = *state;

	for (size_t i = 0; i < PARKED_CASES; i++) {
		struct found at_base, loaded;

		parked_stack_read(f->program, parked_cases[i].name, &f->stack);
		sample_parked(f, 0);
		at_base = ask(f, 0, f->stack.g->sp);
		check_case(f, &parked_cases[i], at_base);
		sample_parked(f, BIAS);
		loaded = ask(f, BIAS, f->stack.g->sp);
		assert_memory_equal(&loaded, &at_base, sizeof(loaded));
	}
}

/* Behind the call at which it stands still: what it needs then it still has. */
static void test_where_it_goes_on(void **state)
{
	static const char *const functions[] = {"main.keeps", "main.takes", "main.drops",
						"main.lends", "main.counts"};
	struct fixture *f = *state;

	for (size_t i = 0; i < PARKED_CASES; i++) {
		uint32_t frame;

		parked_stack_read(f->program, parked_cases[i].name, &f->stack);
		frame = parked_frame(f->program, &f->stack, functions[i]);
		sample_running(f, frame);
		check_case(f, &parked_cases[i], ask(f, 0, f->sampled.goroutine_sp));
		/* In the outer frame there is nothing of the inner one. */
		frame = parked_frame(f->program, &f->stack, "main.around");
		sample_running(f, frame);
		check_case(f, &(struct parked_case){"", false, true},
			   ask(f, 0, f->sampled.goroutine_sp));
	}
}

/* At a function's first instruction: the one before is another's. All it has is its caller's. */
static void test_at_an_entry(void **state)
{
	struct fixture *f = *state;
	struct unwound_stack *u = &f->sampled;
	struct go_function function;
	struct frame_rule rule;
	uint32_t frame;
	uint64_t sp;

	parked_stack_read(f->program, "keeps", &f->stack);
	frame = parked_frame(f->program, &f->stack, "main.around");
	assert_int_equal(pclntab_find_name(gobinary_get_pclntab(f->program->binary), "main.keeps",
					   &function),
			 0);
	sample_running(f, frame);
	sp = u->goroutine_sp;
	frame_rule_get(sp, 0, &rule);
	sp -= rule.caller_sp - sp; /* nothing, or the return address */
	u->goroutine_pc = function.entry;
	u->goroutine_sp = sp;
	u->goroutine_at = frame;
	check_case(f, &(struct parked_case){"", false, true}, ask(f, 0, sp));
}

/* The address of the first word of the stack with this object that is in use. */
static uint64_t live_slot(struct fixture *f, uint64_t object)
{
	struct live_words words;

	for (uint64_t at = f->stack.g->sp; (at - f->stack.g->sp) / 8 < f->stack.count; at += 8) {
		live_words_begin(&words, f->program->binary, 0, &f->sampled);
		if (parked_word(&f->stack, at) == object && live_words_has(&words, at))
			return at;
	}
	fail_msg("no such word");
	return 0;
}

/* Only some are asked for, and some more than once; below the stack there is nothing. */
static void test_some_words(void **state)
{
	struct fixture *f = *state;
	struct live_words words;
	uint64_t inner, outer;

	parked_stack_read(f->program, "keeps", &f->stack);
	sample_parked(f, 0);
	inner = live_slot(f, f->stack.line->inner);
	outer = live_slot(f, f->stack.line->outer);
	assert_true(inner < outer);
	live_words_begin(&words, f->program->binary, 0, &f->sampled);
	assert_false(live_words_has(&words, 0));
	assert_false(live_words_has(&words, f->stack.g->sp - 8));
	assert_true(live_words_has(&words, inner));
	assert_false(live_words_has(&words, inner + 4)); /* no word */
	assert_true(live_words_has(&words, inner));
	assert_true(live_words_has(&words, outer));
	assert_true(live_words_has(&words, outer));
	/* Behind the outermost frame; from there is no way back. */
	assert_false(live_words_has(&words, f->stack.g->stack_high + 4096));
	assert_false(live_words_has(&words, outer));
	assert_false(live_words_has(&words, UINT64_MAX));
}

/* Frames are followed as far as their addresses are known and lie in Go code. */
static void test_lost(void **state)
{
	struct fixture *f = *state;
	struct live_words words;
	uint64_t inner, outer;
	uint32_t frame;

	parked_stack_read(f->program, "keeps", &f->stack);
	sample_parked(f, 0);
	inner = live_slot(f, f->stack.line->inner);
	outer = live_slot(f, f->stack.line->outer);
	frame = parked_frame(f->program, &f->stack, "main.around") + 2;
	f->sampled.pcs[frame] = 0x7f0000001000;
	live_words_begin(&words, f->program->binary, 0, &f->sampled);
	assert_true(live_words_has(&words, inner));
	assert_false(live_words_has(&words, outer));
	sample_parked(f, 0);
	f->sampled.count = frame;
	live_words_begin(&words, f->program->binary, 0, &f->sampled);
	assert_true(live_words_has(&words, inner));
	assert_false(live_words_has(&words, outer));

	sample_parked(f, 0);
	live_words_begin(&words, NULL, 0, &f->sampled);
	assert_false(live_words_has(&words, inner));
	live_words_begin(&words, f->program->binary, BIAS, &f->sampled);
	assert_false(live_words_has(&words, inner));
	f->sampled.goroutine_pc = 0;
	live_words_begin(&words, f->program->binary, 0, &f->sampled);
	assert_false(live_words_has(&words, inner));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_where_it_stands),
		cmocka_unit_test(test_where_it_goes_on),
		cmocka_unit_test(test_at_an_entry),
		cmocka_unit_test(test_some_words),
		cmocka_unit_test(test_lost),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
