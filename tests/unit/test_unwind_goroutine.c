/* SPDX-License-Identifier: Apache-2.0 */
/* Where the unwinder says that the goroutine's own stack begins. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "unwind_fixture.h"

/* Laying out stacks looks up more than one stack may. */
static struct fixture *fixture_of(void **state)
{
	struct fixture *f = *state;

	pclntab_begin(f->scene.table);
	return f;
}

/* The frame at hand, and the place of its caller among the addresses. */
static void assert_begins(const struct fixture *f, uint64_t pc, bool exact, uint64_t caller)
{
	assert_int_equal(f->out.goroutine_pc, pc);
	assert_int_equal(f->out.goroutine_sp, f->stack.sp);
	assert_int_equal(f->out.goroutine_exact, exact);
	assert_true(f->out.goroutine_at < f->out.count);
	assert_int_equal(f->out.pcs[f->out.goroutine_at], caller);
}

static void test_on_its_own_stack(void **state)
{
	static const uint64_t kernel[] = {0xffffffff81000010, 0xffffffff81000020};
	struct fixture *f = fixture_of(state);

	for (uint64_t bias = 0; bias <= 0x555500000000; bias += 0x555500000000) {
		set_bias(f, bias);
		scene_begin(&f->stack, STACK);
		PUSH(f, f->leaf, false);
		PUSH(f, f->middle, true);
		push_root(f, &f->stack);
		scene_sample(&f->record, &f->stack, 64, 8);
		unwind(f);
		assert_begins(f, f->leaf, true, f->middle);
		assert_int_equal(f->out.goroutine_at, 1);
	}
	set_bias(f, 0);
	/* Behind a system call: the kernel's frames come first. */
	scene_begin(&f->stack, STACK);
	PUSH(f, f->middle, true);
	push_root(f, &f->stack);
	scene_sample(&f->record, &f->stack, 64, 0);
	scene_add_words(&f->record, &f->record.sample.kernel_count, kernel, 2);
	f->record.sample.flags = SAMPLE_IN_KERNEL;
	unwind(f);
	assert_int_equal(f->out.kernel_count, 2);
	assert_begins(f, f->middle, true, f->outer);
	assert_int_equal(f->out.goroutine_at, 3);
}

/* The helper that switches stacks is not shown: the frame it interrupted is not counted twice. */
static void test_behind_a_switch(void **state)
{
	struct fixture *f = fixture_of(state);
	const uint64_t start = scene_body(&f->scene, "runtime.gcStart");
	uint64_t newstack;
	const uint64_t change =
		scene_body_in(&f->scene, f->info->systemstack.start, f->info->systemstack.end);
	const uint64_t paused = scene_pc_at(&f->scene, "runtime.systemstack_switch", 8) + 3;
	const uint64_t entered = scene_function(&f->scene, "main.middle").entry + 1;

	scene_begin(&f->thread, G0);
	scene_push(&f->scene, &f->thread, start, true);
	scene_end(&f->thread, change);
	scene_begin(&f->stack, STACK);
	PUSH(f, paused, true);
	push_root(f, &f->stack);
	scene_sample_two(&f->record, &f->thread, &f->stack, SAMPLE_SYSTEM_STACK);
	unwind(f);
	assert_begins(f, paused, false, f->outer);
	assert_int_equal(f->out.goroutine_at, 2);

	/* Where the stack grows, the function that needs more of it is shown. */
	newstack = scene_body(&f->scene, "runtime.newstack");
	scene_begin(&f->thread, G0);
	scene_push(&f->scene, &f->thread, newstack, true);
	scene_end(&f->thread, f->info->morestack.end - 1);
	scene_begin(&f->stack, STACK);
	PUSH(f, entered, false);
	push_root(f, &f->stack);
	scene_sample_two(&f->record, &f->thread, &f->stack, SAMPLE_SYSTEM_STACK);
	unwind(f);
	assert_begins(f, entered, false, f->outer);
	assert_int_equal(f->out.goroutine_at, 3);
}

/* What a signal interrupted executes itself. */
static void test_in_a_signal_handler(void **state)
{
	struct fixture *f = fixture_of(state);
	const uint64_t entry =
		scene_body_in(&f->scene, f->info->sigtramp.start, f->info->sigtramp.end);

	scene_begin(&f->thread, G0);
	scene_push(&f->scene, &f->thread, scene_body(&f->scene, "runtime.sighandler"), true);
	scene_push(&f->scene, &f->thread, scene_body(&f->scene, "runtime.sigtrampgo"), true);
	scene_end(&f->thread, entry);
	scene_begin(&f->stack, STACK);
	PUSH(f, f->leaf, false);
	PUSH(f, f->middle, true);
	push_root(f, &f->stack);
	scene_sample_two(&f->record, &f->thread, &f->stack, SAMPLE_SYSTEM_STACK | SAMPLE_SIGNAL);
	unwind(f);
	assert_begins(f, f->leaf, true, f->middle);
	assert_int_equal(f->out.goroutine_at, 4);
}

/* In C that a goroutine called; and without any Go. */
static void test_in_foreign_code(void **state)
{
	struct fixture *f = fixture_of(state);
	const uint64_t call = scene_body(&f->scene, "runtime.cgocall");

	scene_begin(&f->stack, STACK);
	PUSH(f, call, true);
	push_root(f, &f->stack);
	memset(&f->thread, 0, sizeof(f->thread));
	f->thread.base = f->thread.sp = f->thread.next_sp = G0;
	f->thread.pc = C_PC;
	f->stack.fp = 0;
	f->stack.chain_count = 0;
	scene_sample_two(&f->record, &f->thread, &f->stack,
			 SAMPLE_SYSTEM_STACK | SAMPLE_CURG_SYSCALL);
	unwind(f);
	assert_begins(f, call, false, f->outer);
	assert_int_equal(f->out.goroutine_at, 2);

	scene_sample(&f->record, &f->thread, 64, 0);
	unwind(f);
	assert_int_equal(f->out.goroutine_pc, 0);
	/* A record that is cut says nothing, whatever was known of the one before. */
	scene_begin(&f->stack, STACK);
	PUSH(f, f->middle, true);
	push_root(f, &f->stack);
	scene_sample(&f->record, &f->stack, 64, 0);
	unwind(f);
	assert_begins(f, f->middle, true, f->outer);
	f->record.sample.candidate_count = 1;
	unwind(f);
	assert_int_equal(f->out.count, 0);
	assert_int_equal(f->out.goroutine_pc, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_on_its_own_stack),
		cmocka_unit_test(test_behind_a_switch),
		cmocka_unit_test(test_in_a_signal_handler),
		cmocka_unit_test(test_in_foreign_code),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
