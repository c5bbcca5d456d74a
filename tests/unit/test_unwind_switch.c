/* SPDX-License-Identifier: Apache-2.0 */
/* The unwinder across stacks: g0, C, signal handlers, and calls that nobody made. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "unwind_fixture.h"

/* runtime work on g0 for a goroutine, behind systemstack: its pause in the helper is not shown. */
static void test_systemstack(void **state)
{
	struct fixture *f = *state;
	const uint64_t start = scene_body(&f->scene, "runtime.gcStart");
	const uint64_t change =
		scene_body_in(&f->scene, f->info->systemstack.start, f->info->systemstack.end);
	const uint64_t paused = scene_pc_at(&f->scene, "runtime.systemstack_switch", 8) + 3;

	/* A frame pointer does not lead across: what the goroutine has saved does. */
	scene_begin(&f->thread, G0);
	scene_push(&f->scene, &f->thread, start, true);
	scene_end(&f->thread, change);
	scene_begin(&f->stack, STACK);
	PUSH(f, paused, true);
	push_root(f, &f->stack);
	scene_sample_two(&f->record, &f->thread, &f->stack, SAMPLE_SYSTEM_STACK);
	unwind(f);
	assert_frames(&f->out, 1, start, change, f->outer, f->main, f->runtime_main, (uint64_t)0);
	assert_false(f->out.truncated);

	/* When it does, the saved registers are not needed. */
	f->thread.chain[f->thread.chain_count++] = f->outer;
	f->thread.chain[f->thread.chain_count++] = f->main;
	f->thread.chain[f->thread.chain_count++] = f->goexit;
	scene_sample(&f->record, &f->thread, 64, 8);
	unwind(f);
	assert_frames(&f->out, 1, start, change, f->outer, f->main, (uint64_t)0);
	assert_false(f->out.truncated);

	/* And when the chain beyond leads astray, it is cut at the switch and known to be. */
	f->thread.chain_count = 3;
	f->thread.chain[1] = 0xdeadbeef;
	f->thread.chain[2] = 0xdeadbef0;
	scene_sample(&f->record, &f->thread, 64, 8);
	unwind(f);
	assert_frames(&f->out, 1, start, change, (uint64_t)0);
	assert_true(f->out.truncated);
}

/* On its way back it is the goroutine's already, and SP is still the other stack's. */
static void test_systemstack_back(void **state)
{
	struct fixture *f = *state;
	const uint64_t change =
		scene_body_in(&f->scene, f->info->systemstack.start, f->info->systemstack.end);
	const uint64_t paused = scene_pc_at(&f->scene, "runtime.systemstack_switch", 8) + 3;

	scene_begin(&f->thread, G0);
	scene_push(&f->scene, &f->thread, change, false);
	scene_end(&f->thread, scene_body(&f->scene, "runtime.newstack"));
	scene_begin(&f->stack, STACK);
	PUSH(f, paused, true);
	push_root(f, &f->stack);
	scene_sample_two(&f->record, &f->thread, &f->stack, 0);
	f->record.sample.goid = 1;
	unwind(f);
	assert_frames(&f->out, 1, change, f->outer, f->main, f->runtime_main, (uint64_t)0);
	assert_false(f->out.truncated);
}

/* Stack growth: the goroutine stands at a function's entry, which is shown. */
static void test_morestack(void **state)
{
	struct fixture *f = *state;
	const uint64_t newstack = scene_body(&f->scene, "runtime.newstack");
	const uint64_t more = f->info->morestack.end - 1;
	const uint64_t entered = scene_function(&f->scene, "main.middle").entry + 1;

	scene_begin(&f->thread, G0);
	scene_push(&f->scene, &f->thread, newstack, true);
	scene_end(&f->thread, more);
	scene_begin(&f->stack, STACK);
	PUSH(f, entered, false);
	push_root(f, &f->stack);
	scene_sample_two(&f->record, &f->thread, &f->stack, SAMPLE_SYSTEM_STACK);
	unwind(f);
	assert_frames(&f->out, 1, newstack, more, entered, f->outer, f->main, f->runtime_main,
		      (uint64_t)0);
	assert_false(f->out.truncated);
}

/* A goroutine that has not run yet stands at its function's beginning, which is not a call's end.
 */
static void test_newborn(void **state)
{
	struct fixture *f = *state;
	const uint64_t entry = scene_function(&f->scene, "main.middle").entry;

	scene_begin(&f->thread, G0);
	f->thread.sp = f->thread.next_sp; /* says nothing */
	scene_begin(&f->stack, STACK);
	PUSH(f, entry, false);
	scene_end(&f->stack, f->goexit);
	scene_sample_two(&f->record, &f->thread, &f->stack, SAMPLE_WAITING);
	unwind(f);
	assert_frames(&f->out, 1, entry, (uint64_t)0);
	assert_false(f->out.truncated);
}

/* C code called by a goroutine: no way through it, but g.syscallpc tells where it was left. */
static void test_foreign_leaf(void **state)
{
	struct fixture *f = *state;
	const uint64_t call = scene_body(&f->scene, "runtime.cgocall");

	scene_begin(&f->stack, STACK);
	PUSH(f, call, true);
	PUSH(f, f->middle, true);
	push_root(f, &f->stack);
	memset(&f->thread, 0, sizeof(f->thread));
	f->thread.base = f->thread.sp = f->thread.next_sp = G0;
	f->thread.pc = C_PC;
	f->stack.fp = 0; /* only pc and sp are saved for a call into C */
	f->stack.chain_count = 0;
	scene_sample_two(&f->record, &f->thread, &f->stack,
			 SAMPLE_SYSTEM_STACK | SAMPLE_CURG_SYSCALL);
	unwind(f);
	assert_frames(&f->out, 1, C_PC, call, f->middle, f->outer, f->main, f->runtime_main,
		      (uint64_t)0);
	assert_false(f->out.truncated);

	/* C that leaves the frame pointer alone has its caller's, which lost one before Go 1.21. */
	f->thread.chain[0] = f->outer;
	f->thread.chain[1] = f->goexit;
	f->thread.chain_count = 2;
	scene_sample_two(&f->record, &f->thread, &f->stack,
			 SAMPLE_SYSTEM_STACK | SAMPLE_CURG_SYSCALL);
	unwind(f);
	assert_frames(&f->out, 1, C_PC, call, f->middle, f->outer, f->main, f->runtime_main,
		      (uint64_t)0);
	assert_false(f->out.truncated);

	/* The vdso keeps frame pointers: its chain starts in Go. */
	scene_begin(&f->stack, STACK);
	PUSH(f, f->middle, true);
	push_root(f, &f->stack);
	scene_sample(&f->record, &f->stack, 64, 0);
	f->record.sample.pc = C_PC;
	unwind(f);
	assert_frames(&f->out, 1, C_PC, f->outer, f->main, f->runtime_main, (uint64_t)0);
	assert_false(f->out.truncated);
}

/* In the vdso the frame-pointer register may hold data: its caller has noted where it was. */
static void test_vdso(void **state)
{
	struct fixture *f = *state;
	uint64_t astray = scene_body(&f->scene, "runtime.cgocall");

	scene_begin(&f->stack, STACK);
	PUSH(f, f->middle, true);
	push_root(f, &f->stack);
	memset(&f->thread, 0, sizeof(f->thread));
	f->thread.base = f->thread.sp = f->thread.next_sp = G0;
	f->thread.pc = C_PC;
	for (f->thread.chain_count = 0; f->thread.chain_count < 2; f->thread.chain_count++) {
		scene_sample_two(&f->record, &f->thread, &f->stack, 0);
		unwind(f);
		assert_frames(&f->out, 1, C_PC, f->middle, f->outer, f->main, f->runtime_main,
			      (uint64_t)0);
		assert_false(f->out.truncated);
		f->thread.chain[0] = astray; /* and ends there */
	}
	/* Without such a note what there is of the chain is shown. */
	scene_sample(&f->record, &f->thread, 1, 0);
	unwind(f);
	assert_frames(&f->out, 1, C_PC, astray, (uint64_t)0);
	assert_true(f->out.truncated);
}

/*
 * mcall is where a thread's own stack begins; before its switch it is a function like others, also
 * when only the thread's g is the other one already.
 */
static void test_mcall_leaf(void **state)
{
	enum { BEFORE, BETWEEN, SWITCHED, STEPS };
	struct fixture *f = *state;
	const uint64_t entered = f->info->mcall.start;

	for (int step = 0; step < STEPS; step++) {
		scene_begin(&f->stack, STACK);
		PUSH(f, entered, false);
		PUSH(f, f->middle, true);
		push_root(f, &f->stack);
		scene_sample(&f->record, &f->stack, 64, 8);
		f->record.sample.goid = 1;
		f->record.sample.flags = step == BEFORE ? 0 : SAMPLE_SYSTEM_STACK;
		f->record.sample.curg_sp = step == BETWEEN ? f->stack.sp + 8 : G0;
		unwind(f);
		if (step == SWITCHED)
			assert_frames(&f->out, 1, entered, (uint64_t)0);
		else
			assert_frames(&f->out, 1, entered, f->middle, f->outer, f->main,
				      f->runtime_main, (uint64_t)0);
		assert_false(f->out.truncated);
	}
}

/* Who calls the vdso has moved SP to where any words may lie; it has noted where it was called. */
static void test_moved_sp(void **state)
{
	struct fixture *f = *state;
	const uint64_t asks = scene_body(&f->scene, "runtime.nanotime1");

	scene_begin(&f->stack, STACK);
	PUSH(f, f->middle, true);
	push_root(f, &f->stack);
	scene_begin(&f->thread, G0);
	scene_push(&f->scene, &f->thread, asks, true);
	scene_end(&f->thread, scene_body(&f->scene, "runtime.newstack"));
	scene_sample_two(&f->record, &f->thread, &f->stack, 0);
	unwind(f);
	assert_frames(&f->out, 1, asks, f->middle, f->outer, f->main, f->runtime_main, (uint64_t)0);
	assert_false(f->out.truncated);

	/* Before, its caller is on the stack; on g0, where no note is for us, in its frame record.
	 */
	for (int moved = 0; moved < 2; moved++) {
		scene_begin(&f->stack, STACK);
		PUSH(f, asks, true);
		PUSH(f, f->middle, true);
		push_root(f, &f->stack);
		f->stack.sp -= moved ? 24 : 0;
		scene_sample(&f->record, &f->stack, 64, 16);
		f->record.sample.flags = SAMPLE_SYSTEM_STACK;
		unwind(f);
		assert_frames(&f->out, 1, asks, f->middle, f->outer, f->main, f->runtime_main,
			      (uint64_t)0);
		assert_false(f->out.truncated);
	}
}

/* A panic's work on g0, and frame pointers that lead to what a signal has interrupted. */
static void test_interrupted_in_chain(void **state)
{
	struct fixture *f = *state;
	const uint64_t start = scene_body(&f->scene, "runtime.gcStart");
	const uint64_t change =
		scene_body_in(&f->scene, f->info->systemstack.start, f->info->systemstack.end);
	const uint64_t panics = scene_body(&f->scene, "runtime.sigpanic");
	const uint64_t behind[] = {panics, f->middle, f->main, f->goexit};

	scene_begin(&f->thread, G0);
	scene_push(&f->scene, &f->thread, start, true);
	scene_end(&f->thread, change);
	memcpy(f->thread.chain + f->thread.chain_count, behind, sizeof(behind));
	f->thread.chain_count += 4;
	scene_sample(&f->record, &f->thread, 64, 8);
	unwind(f);
	assert_frames(&f->out, 1 | 1 << 3, start, change, panics, f->middle, f->main, (uint64_t)0);
	assert_false(f->out.truncated);
}

/* A signal in a frameless function: the handler's frames, then the function, which executed. */
static void test_signal(void **state)
{
	struct fixture *f = *state;
	const uint64_t handler = scene_body(&f->scene, "runtime.sighandler");
	const uint64_t go = scene_body(&f->scene, "runtime.sigtrampgo");
	const uint64_t entry =
		scene_body_in(&f->scene, f->info->sigtramp.start, f->info->sigtramp.end);

	scene_begin(&f->thread, G0);
	scene_push(&f->scene, &f->thread, handler, true);
	scene_push(&f->scene, &f->thread, go, true);
	scene_end(&f->thread, entry);
	scene_begin(&f->stack, STACK);
	PUSH(f, f->leaf, false);
	PUSH(f, f->middle, true);
	push_root(f, &f->stack);
	scene_sample_two(&f->record, &f->thread, &f->stack, SAMPLE_SYSTEM_STACK | SAMPLE_SIGNAL);
	unwind(f);
	assert_frames(&f->out, 1 | 1 << 3, handler, go, entry, f->leaf, f->middle, f->outer,
		      f->main, f->runtime_main, (uint64_t)0);
	assert_false(f->out.truncated);

	/* Without what it interrupted the stack ends at the handler's entry, and is cut. */
	scene_sample(&f->record, &f->thread, 64, 8);
	unwind(f);
	assert_frames(&f->out, 1, handler, go, entry, (uint64_t)0);
	assert_true(f->out.truncated);
}

/* A goroutine is preempted in the middle of a leaf: no call stands before the return address. */
static void test_injected_call(void **state)
{
	struct fixture *f = *state;
	const uint64_t preempted = scene_body(&f->scene, "runtime.asyncPreempt2");
	const uint64_t inject =
		scene_body_in(&f->scene, f->info->async_preempt.start, f->info->async_preempt.end);

	scene_begin(&f->stack, STACK);
	PUSH(f, preempted, true);
	PUSH(f, inject, true);
	scene_inject(&f->stack);
	PUSH(f, f->leaf, false);
	PUSH(f, f->middle, true);
	push_root(f, &f->stack);
	scene_sample(&f->record, &f->stack, 64, SCENE_WORDS);
	unwind(f);
	assert_frames(&f->out, 1 | 1 << 2, preempted, inject, f->leaf, f->middle, f->outer, f->main,
		      f->runtime_main, (uint64_t)0);
	assert_false(f->out.truncated);
}

/* g0 after a goroutine has left it: mcall is the end, whatever its frame pointer says. */
static void test_mcall(void **state)
{
	struct fixture *f = *state;
	const uint64_t park = scene_body(&f->scene, "runtime.park_m");
	const uint64_t mcall = f->info->mcall.end - 1;

	scene_begin(&f->thread, G0);
	scene_push(&f->scene, &f->thread, park, true);
	scene_end(&f->thread, mcall);
	f->thread.chain[f->thread.chain_count++] = f->outer;
	scene_sample(&f->record, &f->thread, 64, 8);
	f->record.sample.flags = SAMPLE_SYSTEM_STACK;
	unwind(f);
	assert_frames(&f->out, 1, park, mcall, (uint64_t)0);
	assert_false(f->out.truncated);
}

/*
 * Saved registers whose stack pointer was found to be stale are none: the stack ends at the switch
 * and is known to be cut.
 */
static void test_stale_registers(void **state)
{
	struct fixture *f = *state;
	const uint64_t start = scene_body(&f->scene, "runtime.gcStart");
	const uint64_t change =
		scene_body_in(&f->scene, f->info->systemstack.start, f->info->systemstack.end);

	scene_begin(&f->thread, G0);
	scene_push(&f->scene, &f->thread, start, true);
	scene_end(&f->thread, change);
	scene_sample(&f->record, &f->thread, 64, 8);
	f->record.sample.flags = SAMPLE_SYSTEM_STACK;
	f->record.sample.curg_pc = f->outer;
	unwind(f);
	assert_frames(&f->out, 1, start, change, (uint64_t)0);
	assert_true(f->out.truncated);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_systemstack),
		cmocka_unit_test(test_systemstack_back),
		cmocka_unit_test(test_morestack),
		cmocka_unit_test(test_newborn),
		cmocka_unit_test(test_vdso),
		cmocka_unit_test(test_mcall_leaf),
		cmocka_unit_test(test_moved_sp),
		cmocka_unit_test(test_interrupted_in_chain),
		cmocka_unit_test(test_foreign_leaf),
		cmocka_unit_test(test_signal),
		cmocka_unit_test(test_injected_call),
		cmocka_unit_test(test_mcall),
		cmocka_unit_test(test_stale_registers),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
