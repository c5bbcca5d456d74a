/* SPDX-License-Identifier: Apache-2.0 */
/* All open spans of programs whose goroutines say what they have, and who works for them. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "agent/open_spans.h"
#include "census_program.h"

struct scene {
	struct census_program *program;
	struct open_spans spans;
};

static void read_spans(const struct parked *p, struct open_spans *out)
{
	const struct stack_spans_process process = {p->process, p->binary, 0, 0};

	assert_int_equal(open_spans_read(&process, out), 0);
}

static void begin(struct scene *f, char *argument, size_t goroutines)
{
	f->program = census_run(argument, goroutines);
	read_spans(f->program->parked, &f->spans);
}

static void end(struct scene *f)
{
	open_spans_close(&f->spans);
	census_program_end(f->program);
}

static const struct open_goroutine *goroutine_of(const struct scene *f, const struct open_holder *h)
{
	assert_true(h->goroutine < f->spans.goroutine_count);
	return &f->spans.goroutines[h->goroutine];
}

/* What holders say of one goroutine is what it told, neither more nor less. */
static void check(const struct scene *f, const struct census_truth *t)
{
	size_t own = 0, led_to = 0, works = 0;

	for (size_t i = 0; i < f->spans.holder_count; i++) {
		const struct open_holder *h = &f->spans.holders[i];
		bool known = false;

		if (goroutine_of(f, h)->state.goid != t->goid)
			continue;
		for (size_t k = 0; k < t->count + t->led_to; k++)
			known |= !memcmp(h->span.span_id, t->ids[k], 8) &&
				 h->by_context == (k >= t->count);
		if (!known)
			fail_msg("%s has another span", t->name);
		own += !h->by_context;
		led_to += h->by_context;
		works += h->is_work;
		if (h->is_work)
			assert_ptr_equal(h, &f->spans.holders[goroutine_of(f, h)->works_for]);
		if (h->is_work && t->count)
			assert_memory_equal(h->span.span_id, t->ids[t->count - 1], 8);
	}
	if (own != t->count || led_to != t->led_to)
		fail_msg("%s: %zu + %zu spans instead of %zu + %zu", t->name, own, led_to, t->count,
			 t->led_to);
	assert_int_equal(works, own + led_to > 0);
}

static uint64_t start_ns(const struct open_holder *h)
{
	return go_time_wall_ns(h->span.start);
}

/* Oldest span first, each once; of one who holds it before who has but a context. */
static void check_order(const struct scene *f)
{
	size_t spans = 0, count;
	uint32_t last = 0;

	for (size_t i = 0; i < f->spans.holder_count; i += count, spans++) {
		const struct open_holder *first = &f->spans.holders[i];

		count = open_spans_holders(&f->spans, i);
		if (i)
			assert_true(start_ns(first) >= start_ns(first - 1));
		for (size_t k = 0; k < f->spans.holder_count; k++)
			assert_int_equal(k - i < count, !memcmp(f->spans.holders[k].span.span_id,
								first->span.span_id, 8));
		for (size_t k = 1; k < count; k++)
			assert_true(first[k].by_context >= first[k - 1].by_context);
	}
	assert_int_equal(spans, f->spans.span_count);
	/* Goroutines are numbered as they come. */
	for (size_t i = 0; i < f->spans.holder_count; i++) {
		assert_true(f->spans.holders[i].goroutine <= last);
		last += f->spans.holders[i].goroutine == last;
	}
	assert_int_equal(last, f->spans.goroutine_count);
}

static void check_all(const struct scene *f, size_t holders)
{
	size_t with_spans = 0;

	for (size_t i = 0; i < f->program->count; i++) {
		const struct census_truth *t = &f->program->truth[i];

		check(f, t);
		with_spans += t->count + t->led_to > 0;
	}
	check_order(f);
	assert_int_equal(f->spans.holder_count, holders);
	assert_int_equal(f->spans.goroutine_count, with_spans);
	assert_true(f->spans.looked_at > f->program->count);
	assert_int_equal(f->spans.ran, 0);
	assert_int_equal(f->spans.left_out, 0);
}

static const struct open_holder *holder_of(const struct scene *f, const char *goroutine)
{
	const struct census_truth *t = census_truth(f->program, goroutine);

	for (size_t i = 0; i < f->spans.holder_count; i++)
		if (goroutine_of(f, &f->spans.holders[i])->state.goid == t->goid &&
		    f->spans.holders[i].is_work)
			return &f->spans.holders[i];
	fail_msg("%s has no span", goroutine);
	return NULL;
}

static void assert_name(const struct scene *f, const char *goroutine, const char *name)
{
	const struct open_holder *h = holder_of(f, goroutine);

	assert_int_equal(h->name_size, strlen(name));
	assert_memory_equal(f->spans.names + h->name, name, strlen(name));
}

/* Goroutines that hold spans themselves, in all the ways that the census knows. */
static void test_spans(void **state)
{
	struct scene f;
	size_t spans = 0;

	begin(&f, NULL, 14);
	for (size_t i = 0; i < f.program->count; i++)
		spans += f.program->truth[i].count;
	/* Unlike who holds it, who has but a context was not asked: "strangers" uses only its own.
	 */
	check_all(&f, spans);
	assert_name(&f, "nested", "inner");
	end(&f);
}

/* One that holds nothing but a context works for its span. */
static void test_contexts(void **state)
{
	struct scene f;

	begin(&f, "contexts", 11);
	/* Of "held": holder, child, through, far, own, two; own's own; the orphan; large's. */
	check_all(&f, 9);
	assert_int_equal(f.spans.span_count, 4);
	assert_int_equal(open_spans_holders(&f.spans, 0), 6);
	assert_int_equal(goroutine_of(&f, &f.spans.holders[0])->state.goid,
			 census_truth(f.program, "holder")->goid);
	assert_name(&f, "child", "held");
	assert_name(&f, "own", "own");
	assert_name(&f, "two", "orphan"); /* the younger one */
	end(&f);
}

/* The stack of each: who it is shows at its end. */
static void test_frames(void **state)
{
	struct scene f;
	char name[512];

	begin(&f, "contexts", 11);
	for (size_t i = 0; i < f.spans.goroutine_count; i++) {
		const struct open_goroutine *g = &f.spans.goroutines[i];
		const struct stack_frame *frames = &f.spans.frames[g->first_frame];

		assert_true(g->frame_count > 2);
		assert_int_equal(g->deeper, 0);
		assert_int_equal(frames[0].pc, g->state.pc);
		parked_function(f.program->parked, frames[g->frame_count - 1].pc - 1, name,
				sizeof(name));
		assert_true(strstr(name, "main.holder") || strstr(name, "main.contexts"));
	}
	end(&f);
}

/* Goroutines that run each time are said to; one of two on one CPU always does. */
static void test_running(void **state)
{
	struct parked *p = parked_run("spins", PARKED_SPINNING);
	struct open_spans spans;
	size_t spinning = 0;

	read_spans(p, &spans);
	assert_int_equal(spans.holder_count, 0);
	assert_in_range(spans.ran, 1, OPEN_SPANS_RAN_MAX);
	for (size_t i = 0; i < spans.ran; i++)
		for (size_t k = 0; k < PARKED_SPINNING; k++)
			spinning += !strcmp(p->lines[k].name, "spins") &&
				    p->lines[k].goid == spans.ran_goids[i];
	assert_true(spinning > 0);
	open_spans_close(&spans);
	parked_end(p);
}

/* No list of goroutines; and a process that is gone. */
static void test_refused(void **state)
{
	struct parked *p = parked_start();
	struct stack_spans_process process = {p->process, p->binary, 0, 0};
	struct open_spans spans;

	assert_int_equal(open_spans_read(&process, &spans), 0);
	assert_int_equal(spans.span_count, 0);
	assert_true(spans.looked_at > PARKED_CROWD);
	open_spans_close(&spans);
	process.bias = 1ull << 40;
	assert_int_equal(open_spans_read(&process, &spans), -EFAULT);
	open_spans_close(&spans);
	process.bias = 0;
	assert_int_equal(kill(p->pid, SIGKILL), 0);
	assert_int_equal(waitid(P_PID, (id_t)p->pid, &(siginfo_t){0}, WEXITED | WNOWAIT), 0);
	assert_int_equal(open_spans_read(&process, &spans), -ESRCH);
	open_spans_close(&spans);
	parked_end(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_spans),	cmocka_unit_test(test_contexts),
		cmocka_unit_test(test_frames),	cmocka_unit_test(test_running),
		cmocka_unit_test(test_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
