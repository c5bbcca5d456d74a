/* SPDX-License-Identifier: Apache-2.0 */
/* What the stacks of a program lead to whose goroutines say what they have: spans and contexts. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <errno.h>

#include "agent/stack_spans.h"
#include "census_program.h"

#define GOROUTINES 11
#define WORDS_MAX  65536

struct scene {
	struct census_program *program;
	struct stack_spans_process process;
	struct stack_spans *search;
	uint64_t words[WORDS_MAX];
	struct still_stack stack;
	const struct goroutine_state *g;
	struct stack_spans_found found;
};

static int set_up(void **state)
{
	struct scene *f = calloc(1, sizeof(*f));

	f->program = census_run("contexts", GOROUTINES);
	f->process = (struct stack_spans_process){f->program->parked->process,
						  f->program->parked->binary, 0, clock_wall_ns()};
	assert_int_equal(stack_spans_open(&f->process, &f->search), 0);
	*state = f;
	return 0;
}

static int tear_down(void **state)
{
	struct scene *f = *state;

	stack_spans_close(f->search);
	census_program_end(f->program);
	free(f);
	return 0;
}

static void copy_stack(struct scene *f, const struct census_truth *t)
{
	size_t bytes;

	f->g = parked_state(f->program->parked, t->goid);
	bytes = f->g->stack_high - f->g->sp;
	assert_true(bytes <= sizeof(f->words));
	assert_int_equal(process_read_memory(f->process.process, f->g->sp, f->words, bytes), 0);
	f->stack = (struct still_stack){f->g->pc, {f->g->sp, (const __u64 *)f->words, bytes / 8}};
}

static bool has(const struct stack_spans_found *found, size_t from, size_t count, const uint8_t *id)
{
	for (size_t i = from; i < from + count; i++)
		if (!memcmp(found->spans[i].span_id, id, 8))
			return true;
	return false;
}

/* Its own spans in order, then those of contexts in any. */
static void check(const struct stack_spans_found *found, const struct census_truth *t)
{
	if (found->count != t->count || found->led_to != t->led_to)
		fail_msg("%s: %zu + %zu spans instead of %zu + %zu", t->name, found->count,
			 found->led_to, t->count, t->led_to);
	for (size_t i = 0; i < t->count; i++)
		assert_memory_equal(found->spans[i].span_id, t->ids[i], 8);
	for (size_t i = 0; i < t->led_to; i++)
		assert_true(has(found, t->count, t->led_to, t->ids[t->count + i]));
}

static void test_contexts(void **state)
{
	struct scene *f = *state;
	size_t led_to = 0;

	for (size_t i = 0; i < GOROUTINES; i++) {
		struct census_truth *t = &f->program->truth[i], held = *t;

		copy_stack(f, t);
		assert_int_equal(stack_spans_find(f->search, f->g->g, &f->stack, &f->found), 0);
		held.led_to = 0;
		check(&f->found, &held); /* contexts are not followed unless asked for */
		assert_int_equal(stack_spans_follow_contexts(f->search, &f->found), 0);
		check(&f->found, t);
		assert_false(f->found.interrupted);
		led_to += t->led_to;
	}
	assert_int_equal(led_to, 6); /* child, through, far, own, two of two */
}

/* The frames, from runtime.gopark to the function that the goroutine began with. */
static void test_frames(void **state)
{
	struct scene *f = *state;
	char first[512], last[512];

	copy_stack(f, census_truth(f->program, "far"));
	assert_int_equal(stack_spans_find(f->search, f->g->g, &f->stack, &f->found), 0);
	assert_in_range(f->found.frame_count, 3, 10);
	parked_function(f->program->parked, f->found.frames[0].pc - 1, first, sizeof(first));
	assert_string_equal(first, "runtime.gopark");
	parked_function(f->program->parked, f->found.frames[f->found.frame_count - 1].pc - 1, last,
			sizeof(last));
	assert_string_equal(last, "main.holder.func1.gowrap1");
}

/* Spans that began, as it seems, only later are none. */
static void test_time(void **state)
{
	struct scene *f = *state;
	struct stack_spans_process before = f->process;
	struct stack_spans *search;

	before.now_ns -= 3600ull * 1000000000;
	assert_int_equal(stack_spans_open(&before, &search), 0);
	for (size_t i = 0; i < GOROUTINES; i++) {
		copy_stack(f, &f->program->truth[i]);
		assert_int_equal(stack_spans_find(search, f->g->g, &f->stack, &f->found), 0);
		assert_int_equal(stack_spans_follow_contexts(search, &f->found), 0);
		assert_int_equal(f->found.count + f->found.led_to, 0);
	}
	stack_spans_close(search);
}

/* Puts an address in the place of all words that point into the heap. */
static void point_to(struct scene *f, uint64_t g, uint64_t address)
{
	size_t changed = 0;

	copy_stack(f, census_truth(f->program, "child"));
	for (size_t i = 0; i < f->stack.words.count; i++) {
		bool in_stack = f->words[i] >= f->g->sp && f->words[i] < f->g->stack_high;

		if ((f->words[i] ^ f->g->g) >> 36 || in_stack)
			continue;
		f->words[i] = address;
		changed++;
	}
	assert_true(changed > 0);
	assert_int_equal(stack_spans_find(f->search, g, &f->stack, &f->found), 0);
	assert_int_equal(stack_spans_follow_contexts(f->search, &f->found), 0);
	assert_int_equal(f->found.count, 0);
}

/* Pointers to what is no context, and to where nothing is. */
static void test_no_contexts(void **state)
{
	struct scene *f = *state;
	const struct goroutine_state *g =
		parked_state(f->program->parked, census_truth(f->program, "child")->goid);

	point_to(f, g->g, g->g);
	assert_int_equal(f->found.led_to, 0);
	point_to(f, g->g, g->g >> 36 << 36);
	assert_int_equal(f->found.led_to, 0);
	point_to(f, g->g, (g->g >> 36 << 36) + 8);
	assert_int_equal(f->found.led_to, 0);
}

static void put(uint8_t *span, size_t offset, uint64_t first, uint64_t second)
{
	memcpy(span + offset, &(uint64_t[]){first, second}, 16);
}

/* A span that began a second ago. */
static void fill_span(const struct go_span_offsets *at, uint64_t now_ns, uint8_t span[1024])
{
	static const char name[] = "made up";

	memset(span, 0, 1024);
	put(span, at->context + at->context_trace_id, 1, 2);
	put(span, at->context + at->context_span_id, 3, 0);
	put(span, at->name, (uint64_t)(uintptr_t)name, sizeof(name) - 1);
	put(span, at->start_time, 0, now_ns / 1000000000 - 1 + 62135596800);
}

/* In this very process: contexts that lead to a span, in a circle, to what is none, and nowhere. */
static void test_made_up_contexts(void **state)
{
	struct scene *f = *state;
	const struct gobinary_info *info = f->program->parked->info;
	struct stack_spans_process here = f->process;
	struct stack_spans *there = f->search;
	struct process *self;
	uint64_t itab = info->itabs.context[0], contexts[2][6] = {{itab}, {itab}};
	uint64_t g = (uint64_t)(uintptr_t)contexts, first = g;
	uint8_t span[1024];

	assert_true(info->itabs.context_count > 0);
	assert_int_equal(process_open(getpid(), &self), 0);
	here.process = self;
	assert_int_equal(stack_spans_open(&here, &f->search), 0);
	fill_span(&info->span, here.now_ns, span);
	contexts[0][1] = (uint64_t)(uintptr_t)contexts[1];
	contexts[1][1] = (uint64_t)(uintptr_t)contexts[0];
	point_to(f, g, first);
	assert_int_equal(f->found.led_to, 0);
	contexts[1][4] = info->span_type;
	contexts[1][5] = (uint64_t)(uintptr_t)span;
	point_to(f, g, first);
	assert_int_equal(f->found.led_to, 1);
	assert_int_equal(f->found.spans[0].span_id[0], 3);
	span[0] = 1; /* no span begins like this */
	point_to(f, g, first);
	assert_int_equal(f->found.led_to, 0);
	contexts[1][5] = 8;
	point_to(f, g, first);
	assert_int_equal(f->found.led_to, 0);
	contexts[0][1] = UINT64_MAX - 7;
	point_to(f, g, first);
	assert_int_equal(f->found.led_to, 0);
	stack_spans_close(f->search);
	process_close(self);
	f->search = there;
}

/* The last one: its program ends. */
static void test_process_gone(void **state)
{
	struct scene *f = *state;

	copy_stack(f, census_truth(f->program, "child"));
	assert_int_equal(kill(f->program->parked->pid, SIGKILL), 0);
	assert_int_equal(
		waitid(P_PID, (id_t)f->program->parked->pid, &(siginfo_t){0}, WEXITED | WNOWAIT),
		0);
	assert_int_equal(stack_spans_find(f->search, f->g->g, &f->stack, &f->found), -ESRCH);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_contexts),
		cmocka_unit_test(test_frames),
		cmocka_unit_test(test_time),
		cmocka_unit_test(test_no_contexts),
		cmocka_unit_test(test_made_up_contexts),
		cmocka_unit_test(test_process_gone),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
