/* SPDX-License-Identifier: Apache-2.0 */
/* The unwinder against stacks laid out by hand, with the functions of a Go program built for it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "unwind_fixture.h"

/* The registers belong to the frame at hand: the chain is right, and no stack word is looked at. */
static void test_whole_frame(void **state)
{
	struct fixture *f = *state;

	scene_begin(&f->stack, STACK);
	PUSH(f, f->middle, true);
	push_root(f, &f->stack);
	assert_int_equal(f->stack.chain_count, 4);
	scene_sample(&f->record, &f->stack, 64, 0);
	unwind(f);
	assert_frames(&f->out, 1, f->middle, f->outer, f->main, f->runtime_main, (uint64_t)0);
	assert_false(f->out.truncated);
	assert_int_equal(f->out.kernel_count, 0);
	assert_int_equal(f->stats.stacks, 1);
	assert_int_equal(f->stats.repaired, 0);
	assert_int_equal(f->stats.truncated, 0);
	assert_int_equal(f->stats.without_chain, 0);
}

/* The chain of a function without a frame begins at its caller's caller. */
static void test_frameless_leaf(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(scene_delta(&f->scene, f->leaf), 0);
	scene_begin(&f->stack, STACK);
	PUSH(f, f->leaf, false);
	PUSH(f, f->middle, true);
	push_root(f, &f->stack);
	assert_int_equal(f->stack.chain[0], f->outer);
	scene_sample(&f->record, &f->stack, 64, 1);
	unwind(f);
	assert_frames(&f->out, 1, f->leaf, f->middle, f->outer, f->main, f->runtime_main,
		      (uint64_t)0);
	assert_false(f->out.truncated);
	assert_int_equal(f->stats.repaired, 1);

	/* Without that one word the caller is missing, and nothing is made up. */
	scene_sample(&f->record, &f->stack, 64, 0);
	unwind(f);
	assert_frames(&f->out, 1, f->leaf, f->outer, f->main, f->runtime_main, (uint64_t)0);
	assert_int_equal(f->stats.repaired, 0);
}

static void test_prologue(void **state)
{
	struct fixture *f = *state;
	const uint64_t entry = scene_function(&f->scene, "main.middle").entry;
	const uint64_t pushed = scene_pc_at(&f->scene, "main.middle", 8);
	const struct {
		uint64_t pc;
		bool keeps;
		uint64_t repaired;
	} places[] = {
		{entry, false, 1},     /* the return address lies at SP */
		{pushed, false, 1},    /* RBP is saved and still the caller's */
		{pushed + 3, true, 0}, /* and now our own */
	};

	assert_int_equal(scene_delta(&f->scene, pushed + 2), 8);
	for (size_t i = 0; i < 3; i++) {
		scene_begin(&f->stack, STACK);
		if (i == 2) /* mov rbp, rsp has three bytes; sub rsp is yet to come */
			assert_int_equal(scene_delta(&f->scene, places[i].pc), 8);
		PUSH(f, places[i].pc, places[i].keeps);
		push_root(f, &f->stack);
		scene_sample(&f->record, &f->stack, 64, 4);
		unwind(f);
		assert_frames(&f->out, 1, places[i].pc, f->outer, f->main, f->runtime_main,
			      (uint64_t)0);
		assert_false(f->out.truncated);
		assert_int_equal(f->stats.repaired, places[i].repaired);
	}
}

/* RBP holds data, as in crypto: all by the sizes of the frames, up to goexit. */
static void test_broken_chain(void **state)
{
	struct fixture *f = *state;
	size_t words;

	scene_begin(&f->stack, STACK);
	PUSH(f, f->leaf, false);
	PUSH(f, f->middle, true);
	push_root(f, &f->stack);
	f->stack.fp = 0x123456789;
	f->stack.chain_count = 0;
	scene_sample(&f->record, &f->stack, 0, RECORD_STACK_DEEP);
	f->record.sample.flags = SAMPLE_DEEP;
	words = f->record.sample.stack_count;
	unwind(f);
	assert_frames(&f->out, 1, f->leaf, f->middle, f->outer, f->main, f->runtime_main,
		      (uint64_t)0);
	assert_false(f->out.truncated);
	assert_int_equal(f->stats.repaired, 5);
	assert_int_equal(f->stats.without_chain, 1);

	/* A chain of nonsense changes nothing. */
	f->stack.chain[0] = 0xdeadbeef;
	f->stack.chain_count = 1;
	scene_sample(&f->record, &f->stack, 1, RECORD_STACK_DEEP);
	unwind(f);
	assert_frames(&f->out, 1, f->leaf, f->middle, f->outer, f->main, f->runtime_main,
		      (uint64_t)0);
	assert_false(f->out.truncated);

	/* The words end one short of goexit's: what was found stays, and is known to be cut. */
	scene_sample(&f->record, &f->stack, 1, words - 1);
	unwind(f);
	assert_frames(&f->out, 1, f->leaf, f->middle, f->outer, f->main, f->runtime_main,
		      (uint64_t)0);
	assert_true(f->out.truncated);
	assert_int_equal(f->stats.truncated, 1);
}

/* A position-independent program, loaded anywhere. */
static void test_bias(void **state)
{
	struct fixture *f = *state;

	set_bias(f, 0x555555000000);
	scene_begin(&f->stack, STACK);
	PUSH(f, f->leaf, false);
	PUSH(f, f->middle, true);
	push_root(f, &f->stack);
	scene_sample(&f->record, &f->stack, 64, 1);
	unwind(f);
	assert_true(f->leaf > 0x555555000000);
	assert_frames(&f->out, 1, f->leaf, f->middle, f->outer, f->main, f->runtime_main,
		      (uint64_t)0);
	assert_false(f->out.truncated);
	set_bias(f, 0);
}

static void test_kernel_frames(void **state)
{
	const uint64_t kernel[] = {0xffffffff81000010, 0xffffffff81000020};
	struct fixture *f = *state;

	scene_begin(&f->stack, STACK);
	PUSH(f, f->middle, true);
	push_root(f, &f->stack);
	memset(&f->record, 0, sizeof(f->record));
	f->record.sample.flags = SAMPLE_IN_KERNEL;
	f->record.sample.pc = f->stack.pc;
	f->record.sample.sp = f->stack.sp;
	f->record.sample.fp = f->stack.fp;
	scene_add_words(&f->record, &f->record.sample.chain_count, f->stack.chain,
			f->stack.chain_count);
	scene_add_words(&f->record, &f->record.sample.kernel_count, kernel, 2);
	unwind(f);
	assert_frames(&f->out, 1 | 1 << 2, kernel[0], kernel[1], f->middle, f->outer, f->main,
		      f->runtime_main, (uint64_t)0);
	assert_int_equal(f->out.kernel_count, 2);
	assert_false(f->out.truncated);

	/* User registers unknown: the kernel's frames are all there is. */
	f->record.sample.flags |= SAMPLE_NO_REGISTERS;
	unwind(f);
	assert_frames(&f->out, 1, kernel[0], kernel[1], (uint64_t)0);
	assert_int_equal(f->out.kernel_count, 2);
	assert_true(f->out.truncated);
	assert_int_equal(f->stats.without_chain, 0);
}

/* Counts that the record is too small for, each of them: nothing of it is believed. */
static void test_lying_counts(void **state)
{
	struct fixture *f = *state;
	struct sample_record *sample = &f->record.sample;
	__u16 *counts[] = {&sample->chain_count,  &sample->curg_count,	&sample->root_count,
			   &sample->kernel_count, &sample->stack_count, &sample->curg_stack_count};

	for (size_t i = 0; i < sizeof(counts) / sizeof(*counts); i++) {
		memset(&f->record, 0, sizeof(f->record));
		sample->header.size_bytes = sizeof(*sample) + 8 * 3 + 7;
		sample->pc = f->middle;
		*counts[i] = 4;
		unwind(f);
		assert_int_equal(f->out.count, 0);
		assert_int_equal(f->out.kernel_count, 0);
		assert_true(f->out.truncated);
		assert_int_equal(f->stats.truncated, 1);
		*counts[i] = 3;
		unwind(f);
		assert_true(f->out.count > 0);
	}
	for (uint32_t size = 0; size < sizeof(*sample); size += 51) {
		memset(&f->record, 0, sizeof(f->record));
		sample->header.size_bytes = size;
		unwind(f);
		assert_int_equal(f->out.count, 0);
		assert_true(f->out.truncated);
	}
}

/* Not Go: the leaf and the chain, of which nobody can say whether it is whole. */
static void test_without_binary(void **state)
{
	struct fixture *f = *state;

	scene_begin(&f->stack, STACK);
	f->stack.pc = C_PC;
	f->stack.chain[0] = C_PC + 100;
	f->stack.chain[1] = C_PC + 200;
	f->stack.chain_count = 2;
	f->stack.sp = f->stack.next_sp;
	scene_sample(&f->record, &f->stack, 64, 0);
	unwind_sample(&f->record.sample, NULL, 0, &f->out, &f->stats);
	assert_frames(&f->out, 1, C_PC, C_PC + 100, C_PC + 200, (uint64_t)0);
	assert_true(f->out.truncated);
}

static void test_caps(void **state)
{
	struct fixture *f = *state;
	uint64_t chain[RECORD_WORDS_MAX];

	for (size_t i = 0; i < RECORD_WORDS_MAX; i++)
		chain[i] = f->outer;
	chain[RECORD_CHAIN_MAX] = f->goexit;
	scene_begin(&f->stack, STACK);
	PUSH(f, f->middle, true);
	scene_end(&f->stack, f->outer);

	/* The kernel side walked as far as it does. */
	scene_sample(&f->record, &f->stack, 0, 0);
	scene_add_words(&f->record, &f->record.sample.chain_count, chain, RECORD_CHAIN_MAX);
	f->record.sample.flags = SAMPLE_CHAIN_CUT;
	unwind(f);
	assert_int_equal(f->out.count, 1 + RECORD_CHAIN_MAX);
	assert_true(f->out.truncated);

	/* One more would have been the end: the same without the flag. */
	scene_sample(&f->record, &f->stack, 0, 0);
	scene_add_words(&f->record, &f->record.sample.chain_count, chain, RECORD_CHAIN_MAX + 1);
	unwind(f);
	assert_int_equal(f->out.count, 1 + RECORD_CHAIN_MAX);
	assert_false(f->out.truncated);

	/* And no more than fit. */
	chain[RECORD_CHAIN_MAX] = f->outer;
	scene_sample(&f->record, &f->stack, 0, 0);
	scene_add_words(&f->record, &f->record.sample.chain_count, chain, 1200);
	unwind(f);
	assert_int_equal(f->out.count, UNWIND_FRAMES_MAX);
	assert_int_equal(f->out.pcs[UNWIND_FRAMES_MAX - 1], f->outer);
	assert_true(f->out.truncated);
}

/* A stack too deep for a record: both its ends, and where the frames between them are missing. */
static void test_both_ends(void **state)
{
	struct fixture *f = *state;
	const uint64_t ring[] = {f->runtime_main, f->goexit, f->main};
	uint64_t chain[RECORD_CHAIN_MAX];

	for (size_t i = 0; i < RECORD_CHAIN_MAX; i++)
		chain[i] = f->outer;
	scene_begin(&f->stack, STACK);
	PUSH(f, f->middle, true);
	scene_end(&f->stack, f->outer);
	for (__u16 first = 2; first < 4; first++) {
		scene_sample(&f->record, &f->stack, 0, 0);
		scene_add_words(&f->record, &f->record.sample.chain_count, chain, RECORD_CHAIN_MAX);
		scene_add_words(&f->record, &f->record.sample.root_count, ring, 3);
		f->record.sample.root_first = first;
		f->record.sample.flags = SAMPLE_CHAIN_CUT;
		unwind(f);
		assert_true(f->out.truncated);
		if (first == 3) /* there is no such place */
			break;
		assert_int_equal(f->out.count, 1 + RECORD_CHAIN_MAX + 2);
		assert_int_equal(f->out.gap_at, 1 + RECORD_CHAIN_MAX);
		assert_int_equal(f->out.pcs[RECORD_CHAIN_MAX], f->outer);
		assert_int_equal(f->out.pcs[RECORD_CHAIN_MAX + 1], f->main);
		assert_int_equal(f->out.pcs[RECORD_CHAIN_MAX + 2], f->runtime_main);
	}
	assert_int_equal(f->out.count, 1 + RECORD_CHAIN_MAX);
	assert_int_equal(f->out.gap_at, 0);
	/* Those of a chain that is whole mean nothing. */
	scene_sample(&f->record, &f->stack, 64, 0);
	scene_add_words(&f->record, &f->record.sample.root_count, ring, 3);
	unwind(f);
	assert_frames(&f->out, 1, f->middle, f->outer, (uint64_t)0);
	assert_int_equal(f->out.gap_at, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_whole_frame),  cmocka_unit_test(test_frameless_leaf),
		cmocka_unit_test(test_prologue),     cmocka_unit_test(test_broken_chain),
		cmocka_unit_test(test_bias),	     cmocka_unit_test(test_kernel_frames),
		cmocka_unit_test(test_lying_counts), cmocka_unit_test(test_without_binary),
		cmocka_unit_test(test_caps),	     cmocka_unit_test(test_both_ends),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
