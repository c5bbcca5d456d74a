/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The unwinder with chains as programs of before Go 1.21 have them: functions that need no frame
 * are in it, those that called them are not.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "unwind_fixture.h"

static int set_up_old(void **state)
{
	int err = set_up(state);
	struct fixture *f = *state;

	((struct gobinary_info *)f->info)->frameless_callers = true;
	return err;
}

static struct scene_stack *begin(struct fixture *f)
{
	scene_begin(&f->stack, STACK);
	PUSH(f, f->middle, true);
	return &f->stack;
}

/* The record of the stack as it is, with another chain. */
static void unwind_chain(struct fixture *f, const uint64_t *chain, size_t count)
{
	scene_sample(&f->record, &f->stack, 0, 0);
	scene_add_words(&f->record, &f->record.sample.chain_count, chain, count);
	unwind(f);
}

static void test_frameless_callers(void **state)
{
	struct fixture *f = *state;
	const uint64_t frameless = f->leaf + 1;
	const uint64_t one[] = {
		frameless, f->outer | RECORD_ABOVE, f->middle | RECORD_ABOVE,
		f->main,   f->leaf | RECORD_ABOVE,  f->runtime_main,
		f->goexit,
	};
	const uint64_t two[] = {
		frameless, frameless | RECORD_ABOVE, f->outer | RECORD_ABOVE,
		f->main,   f->runtime_main,	     f->goexit,
	};

	assert_int_equal(scene_delta(&f->scene, frameless), 0);
	push_root(f, begin(f));
	/* What lies above a function that has a frame is not its caller. */
	unwind_chain(f, one, 7);
	assert_frames(&f->out, 1, f->middle, frameless, f->outer, f->main, f->runtime_main,
		      (uint64_t)0);
	assert_false(f->out.truncated);
	unwind_chain(f, two, 6);
	assert_frames(&f->out, 1, f->middle, frameless, frameless, f->outer, f->main,
		      f->runtime_main, (uint64_t)0);
	assert_false(f->out.truncated);

	((struct gobinary_info *)f->info)->frameless_callers = false;
	unwind_chain(f, one, 7);
	((struct gobinary_info *)f->info)->frameless_callers = true;
	assert_frames(&f->out, 1, f->middle, frameless, f->main, f->runtime_main, (uint64_t)0);
}

/* The outermost frames of a deep stack may begin with words of a frame that is not among them. */
static void test_root_begins_above(void **state)
{
	struct fixture *f = *state;
	const uint64_t ring[] = {f->outer | RECORD_ABOVE, f->leaf | RECORD_ABOVE, f->main,
				 f->runtime_main, f->goexit};
	uint64_t chain[RECORD_CHAIN_MAX];

	for (size_t i = 0; i < RECORD_CHAIN_MAX; i++)
		chain[i] = f->leaf + 1;
	push_root(f, begin(f));
	scene_sample(&f->record, &f->stack, 0, 0);
	scene_add_words(&f->record, &f->record.sample.chain_count, chain, RECORD_CHAIN_MAX);
	scene_add_words(&f->record, &f->record.sample.root_count, ring, 5);
	f->record.sample.flags = SAMPLE_CHAIN_CUT;
	unwind(f);
	assert_true(f->out.truncated);
	assert_int_equal(f->out.gap_at, 1 + RECORD_CHAIN_MAX);
	assert_int_equal(f->out.count, 1 + RECORD_CHAIN_MAX + 2);
	assert_int_equal(f->out.pcs[1 + RECORD_CHAIN_MAX], f->main);
}

/* Up to an injected call the steps go by the frames' sizes, and the chain goes along. */
static void test_steps_along(void **state)
{
	struct fixture *f = *state;
	const uint64_t inject =
		scene_body_in(&f->scene, f->info->async_preempt.start, f->info->async_preempt.end);
	const uint64_t chain[] = {inject,  f->outer | RECORD_ABOVE, f->outer,
				  f->main, f->runtime_main,	    f->goexit};

	begin(f);
	PUSH(f, inject, true);
	scene_inject(&f->stack);
	PUSH(f, f->outer, true);
	scene_push(&f->scene, &f->stack, f->main, true);
	scene_push(&f->scene, &f->stack, f->runtime_main, true);
	scene_end(&f->stack, f->goexit);
	scene_sample(&f->record, &f->stack, 0, 0);
	scene_add_words(&f->record, &f->record.sample.chain_count, chain, 6);
	scene_add_stack(&f->record, &f->record.sample.stack_count, &f->stack, f->stack.sp,
			RECORD_STACK_SHORT);
	unwind(f);
	assert_frames(&f->out, 1 | 1 << 2, f->middle, inject, f->outer, f->main, f->runtime_main,
		      (uint64_t)0);
	assert_false(f->out.truncated);
}

/* Frame pointers of a system stack lead too far: the goroutine's registers do not. */
static void test_switch(void **state)
{
	struct fixture *f = *state;
	const uint64_t newstack = scene_body(&f->scene, "runtime.newstack");
	const uint64_t more = f->info->morestack.end - 1;
	const uint64_t entered = scene_function(&f->scene, "main.middle").entry + 1;

	scene_begin(&f->thread, G0);
	scene_push(&f->scene, &f->thread, newstack, true);
	scene_end(&f->thread, more);
	f->thread.chain[f->thread.chain_count++] = f->main;
	f->thread.chain[f->thread.chain_count++] = f->runtime_main;
	f->thread.chain[f->thread.chain_count++] = f->goexit;
	scene_begin(&f->stack, STACK);
	PUSH(f, entered, false);
	push_root(f, &f->stack);
	scene_sample_two(&f->record, &f->thread, &f->stack, SAMPLE_SYSTEM_STACK);
	unwind(f);
	assert_frames(&f->out, 1, newstack, more, entered, f->outer, f->main, f->runtime_main,
		      (uint64_t)0);
	assert_false(f->out.truncated);

	/* When they are not known, it is still the best there is. */
	f->record.sample.curg_pc = 0;
	unwind(f);
	assert_frames(&f->out, 1, newstack, more, f->main, f->runtime_main, (uint64_t)0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_frameless_callers),
		cmocka_unit_test(test_root_begins_above),
		cmocka_unit_test(test_steps_along),
		cmocka_unit_test(test_switch),
	};

	return cmocka_run_group_tests(tests, set_up_old, tear_down);
}
