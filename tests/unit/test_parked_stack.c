/* SPDX-License-Identifier: Apache-2.0 */
/* Stacks of goroutines that do not run, of a real program and of hostile memory. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

#include <cmocka.h>

#include <spanprof/record.h>

#include "parked_program.h"
#include "unwind/unwind.h"
#include "waiting/parked_stack.h"

struct record {
	struct sample_record sample;
	uint64_t words[PARKED_WORDS_MAX];
};

static void read_top(const struct process *p, const struct goroutine_state *g,
		     struct parked_top *top)
{
	size_t bytes = parked_top_bytes(g);

	assert_int_equal(process_read_memory(p, g->sp, top->words, bytes), 0);
	top->count = bytes / 8;
}

static void take(const struct parked *p, const struct goroutine_state *g, struct record *record,
		 struct unwound_stack *stack)
{
	struct unwind_stats stats = {0};
	struct parked_top top;

	memset(record, 0, sizeof(*record));
	read_top(p->process, g, &top);
	parked_stack_fill(p->process, p->info, 0, g, &top, &record->sample);
	unwind_sample(&record->sample, p->binary, 0, stack, &stats);
}

static void assert_stack(const struct parked *p, const struct unwound_stack *stack,
			 const char *const *names, size_t count)
{
	char name[512];

	assert_false(stack->truncated);
	assert_true(stack->count >= count);
	for (size_t i = 0; i < count; i++)
		assert_string_equal(parked_function(p, stack->pcs[i] - 1, name, sizeof(name)),
				    names[i]);
}

#define COUNT_OF(all) (sizeof(all) / sizeof(*(all)))

static void test_real_program(void **state)
{
	static const char *const keeps[] = {"runtime.gopark",	 "runtime.chanrecv",
					    "runtime.chanrecv1", "main.keeps",
					    "main.around",	 "main.park.gowrap1"};
	struct parked *p = parked_start();
	static struct unwound_stack stack;
	struct record record;
	char name[512];

	take(p, parked_state(p, parked_line(p, "keeps")->goid), &record, &stack);
	assert_int_equal(record.sample.flags, SAMPLE_WAITING);
	assert_stack(p, &stack, keeps, COUNT_OF(keeps));
	assert_int_equal(stack.count, 6);
	assert_int_equal(record.sample.curg_stack_count, 0); /* frame pointers tell it all */
	/* In a system call, with and without the frame pointer that Go keeps from 1.23. */
	for (int without = 0; without < 2; without++) {
		struct goroutine_state g = *parked_state(p, 1);

		if (without)
			g.fp = 0;
		take(p, &g, &record, &stack);
		assert_int_equal(record.sample.flags, SAMPLE_WAITING | SAMPLE_CURG_SYSCALL);
		assert_false(stack.truncated);
		assert_memory_equal(parked_function(p, stack.pcs[0] - 1, name, sizeof(name)),
				    "syscall.", 8);
		for (uint32_t i = 0, seen = 0; i < stack.count; i++) {
			parked_function(p, stack.pcs[i] - 1, name, sizeof(name));
			seen += !strcmp(name, "main.main");
			assert_int_equal(seen, i + 2 >= stack.count); /* runtime.main */
		}
	}
	/* All others that stand still have whole stacks as well. */
	for (size_t i = 0; i < p->count; i++) {
		if (!p->states[i].goid || p->states[i].status != GOROUTINE_WAITING)
			continue;
		take(p, &p->states[i], &record, &stack);
		assert_false(stack.truncated);
		assert_true(stack.count > 1);
	}
	parked_end(p);
}

#define FRAMES 4000

struct fixture {
	struct process *self;
	struct gobinary_info info;
	struct goroutine_state g;
	struct parked_top top;
	struct record record;
	uint64_t *stack; /* FRAMES times 16 words, a frame record at the beginning of each */
};

static uint64_t address(const void *pointer)
{
	return (uint64_t)(uintptr_t)pointer;
}

static int set_up(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	f->stack = calloc(FRAMES, 16 * sizeof(*f->stack));
	for (size_t i = 0; i < FRAMES; i++) {
		f->stack[16 * i] = i + 1 < FRAMES ? address(&f->stack[16 * (i + 1)]) : 0;
		f->stack[16 * i + 1] = 0x401000 + i;
	}
	f->info.text_start = 0x401000;
	f->info.text_end = 0x500000;
	f->g = (struct goroutine_state){
		.pc = 0x400999,
		.sp = address(f->stack),
		.fp = address(f->stack),
		.stack_low = address(f->stack) - 1024,
		.stack_high = address(f->stack + 16 * FRAMES),
	};
	assert_int_equal(process_open(getpid(), &f->self), 0);
	*state = f;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	process_close(f->self);
	free(f->stack);
	free(f);
	return 0;
}

/* A stack of so many frames; returns how many the record has of them. `words`: it has its top. */
static size_t fill_with(struct fixture *f, size_t frames, bool words)
{
	const struct sample_record *s = &f->record.sample;

	f->g.stack_high = address(f->stack + 16 * frames);
	memset(&f->record, 0, sizeof(f->record));
	read_top(f->self, &f->g, &f->top);
	parked_stack_fill(f->self, &f->info, 0, &f->g, &f->top, &f->record.sample);
	assert_int_equal(s->header.size_bytes,
			 sizeof(*s) +
				 8 * (size_t)(s->curg_count + s->root_count + s->curg_stack_count));
	assert_int_equal(s->curg_stack_count, words ? f->top.count : 0);
	if (words)
		assert_memory_equal(s->words + s->curg_count + s->root_count, f->top.words,
				    8 * f->top.count);
	assert_int_equal(s->curg_pc, f->g.pc);
	assert_int_equal(s->curg_sp, f->g.sp);
	for (size_t i = 0; i < s->curg_count; i++)
		assert_int_equal(s->words[i], 0x401000 + i);
	return s->curg_count;
}

static size_t fill(struct fixture *f, size_t frames)
{
	return fill_with(f, frames, true);
}

static bool is_cut(const struct fixture *f)
{
	return f->record.sample.flags & SAMPLE_CHAIN_CUT;
}

static void test_depths(void **state)
{
	const size_t depths[] = {1, 2, 7, 8, 9, 100, 128, 129, 300, 511, 512};
	struct fixture *f = *state;
	const struct sample_record *s = &f->record.sample;
	const __u64 *ring = s->words + RECORD_CHAIN_MAX;

	for (size_t i = 0; i < COUNT_OF(depths); i++) {
		uint64_t *last = &f->stack[16 * (depths[i] - 1)], next = *last;

		*last = 0;
		assert_int_equal(fill(f, depths[i]), depths[i]);
		assert_false(is_cut(f));
		*last = next;
	}
	/* More than a record holds. */
	assert_int_equal(fill(f, FRAMES), RECORD_CHAIN_MAX);
	assert_true(is_cut(f));
	for (size_t i = 0; i < s->root_count; i++)
		assert_int_equal(ring[(s->root_first + i) % s->root_count],
				 0x401000 + FRAMES - s->root_count + i);
}

/* Before Go 1.21 a word above a return address may be one, too. */
static void test_words_above(void **state)
{
	struct fixture *f = *state;
	const struct sample_record *s = &f->record.sample;
	uint64_t *last = &f->stack[16 * 9];

	f->info.frameless_callers = true;
	f->stack[16 * 2 + 2] = 0x402000; /* followed by what is none */
	f->stack[16 * 4 + 2] = f->info.text_end;
	f->stack[16 * 5 + 3] = 0x402001;
	for (size_t i = 2; i < 5; i++)
		f->stack[16 * 7 + i] = 0x403000 + i;
	*last = 0;
	f->g.stack_high = address(last + 2); /* nothing lies above the outermost one */
	read_top(f->self, &f->g, &f->top);
	memset(&f->record, 0, sizeof(f->record));
	parked_stack_fill(f->self, &f->info, 0, &f->g, &f->top, &f->record.sample);
	assert_int_equal(s->curg_count, 10 + 1 + RECORD_ABOVE_MAX);
	assert_int_equal(s->words[2], 0x401002);
	assert_int_equal(s->words[3], 0x402000 | RECORD_ABOVE);
	assert_int_equal(s->words[4], 0x401003);
	assert_int_equal(s->words[8], 0x401007);
	assert_int_equal(s->words[9], 0x403002 | RECORD_ABOVE);
	assert_int_equal(s->words[10], 0x403003 | RECORD_ABOVE);
	assert_int_equal(s->words[11], 0x401008);
	assert_false(is_cut(f));
}

/* The top of the stack is kept where frame pointers may not tell all. */
static void test_gaps(void **state)
{
	struct fixture *f = *state;
	uint64_t *last = &f->stack[16 * 9], next = *last;

	*last = 0;
	f->g.status = GOROUTINE_WAITING;
	assert_int_equal(fill_with(f, 10, false), 10);
	assert_false(is_cut(f));
	f->info.async_preempt.start = 0x401004;
	f->info.async_preempt.end = 0x401005;
	assert_int_equal(fill_with(f, 10, true), 10);
	f->info.async_preempt.start = 0x401100;
	f->info.async_preempt.end = 0x401200;
	assert_int_equal(fill_with(f, 10, false), 10);
	f->g.status = GOROUTINE_RUNNABLE;
	assert_int_equal(fill_with(f, 10, true), 10);
	f->g.status = GOROUTINE_WAITING;
	*last = next;
	assert_int_equal(fill_with(f, 10, true), 10);
	assert_true(is_cut(f));
}

static void test_broken_chains(void **state)
{
	struct fixture *f = *state;
	const uint64_t odd[] = {
		8,			     /* nowhere */
		address(&f->stack[0]),	     /* back */
		address(&f->stack[16 * 20]), /* itself */
		address(&f->stack[16 * 21]) + 4,
		address(&f->stack[16 * 30]) - 8, /* cut by the end */
		address(&f->stack[16 * 30]),
		UINT64_MAX - 7,
	};

	for (size_t i = 0; i < COUNT_OF(odd); i++) {
		f->stack[16 * 20] = odd[i];
		assert_int_equal(fill(f, 30), 21);
		assert_true(is_cut(f));
	}
	/* Its own frame pointer. */
	f->g.fp = f->g.stack_high;
	assert_int_equal(fill(f, 30), 0);
	assert_true(is_cut(f));
	f->g.fp = address(f->stack) - 16;
	assert_int_equal(fill(f, 30), 0);
	assert_true(is_cut(f));
	/* No stack at all. */
	f->g.sp = f->g.fp = address(f->stack + 16 * 30);
	assert_int_equal(fill(f, 30), 0);
	assert_true(is_cut(f));
}

/* Frames so large that what lies between them is not worth reading. */
static void test_large_frames(void **state)
{
	struct fixture *f = *state;

	for (size_t i = 0; i < 3; i++) {
		f->stack[16 * 1000 * i] = i < 2 ? address(&f->stack[16 * 1000 * (i + 1)]) : 0;
		f->stack[16 * 1000 * i + 1] = 0x401000 + i;
	}
	assert_int_equal(fill(f, FRAMES), 3);
	assert_false(is_cut(f));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_real_program),
		cmocka_unit_test_setup_teardown(test_depths, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_words_above, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_gaps, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_broken_chains, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_large_frames, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
