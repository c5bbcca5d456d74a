/* SPDX-License-Identifier: Apache-2.0 */
/* What is told of spans that have ended, and when, on this kernel. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fake_program.h"

/* Takes all records that wait; returns how many ended spans are among them. */
static size_t told(void)
{
	struct fixture *f = &program->capture;
	int count;

	f->ended_count = 0;
	do {
		count = capture_poll(f->capture);
		assert_true(count >= 0);
	} while (count);
	return f->ended_count;
}

/* Nothing waits from a test before. */
static int begin_empty(void **state)
{
	told();
	return begin(state);
}

static void assert_told(size_t place, const struct fake_span *span)
{
	const struct span_record *r = &program->capture.ended[place];

	assert_true(place < program->capture.ended_count);
	assert_memory_equal(r->span_id, span->context.span_id, sizeof(r->span_id));
}

static void start(struct fake_span *span, uint8_t id, struct fake_g *g)
{
	fake_span_make(span, 0xaa, id, "span");
	fake_start(span, g);
}

static void end(struct fake_span *span)
{
	span->end_wall = 0x8000000000000001;
	span->end_ext = 77;
}

/* Each field has a value of its own. */
static void fill(struct fake_span *span, const char *name)
{
	fake_span_make(span, 0, 0, name);
	for (uint8_t i = 0; i < 16; i++)
		span->context.trace_id[i] = 0x10 + i;
	for (uint8_t i = 0; i < 8; i++) {
		span->context.span_id[i] = 0x30 + i;
		span->parent.span_id[i] = 0x50 + i;
	}
	span->context.flags = 3;
	span->start_wall = 0x1111111111111111;
	span->start_ext = 0x2222222222222222;
	span->kind = 0x44444405;
	span->status = 0x5555555500000002;
	memset(span->rest, 0xee, sizeof(span->rest)); /* nobody's */
}

static void assert_fields(const struct span_record *r, const struct fake_span *span)
{
	assert_int_equal(r->pid, getpid());
	assert_int_equal(r->generation, program->generation);
	assert_memory_equal(r->trace_id, span->context.trace_id, 16);
	assert_memory_equal(r->span_id, span->context.span_id, 8);
	assert_int_equal(r->start[0], 0x1111111111111111);
	assert_int_equal(r->start[1], 0x2222222222222222);
	assert_int_equal(r->end[0], 0x8000000000000001);
	assert_int_equal(r->end[1], 77);
	assert_int_equal(r->name_address, ADDRESS(span->name));
	assert_int_equal(r->name_size, span->name_size < 0xffff ? span->name_size : 0xffff);
	assert_int_equal(r->trace_flags, 3);
}

static void test_fields(void **state)
{
	static const uint8_t no_id[8];
	struct program *p = program;
	struct fake_span *s = p->spans;
	const struct span_record *r = p->capture.ended;
	struct target_process target = fake_target(p->generation);

	fill(&s[0], "POST");
	fake_start(&s[0], &p->g);
	assert_int_equal(told(), 0);
	end(&s[0]);
	s[0].name = "POST /cart"; /* the final one */
	s[0].name_size = 10;
	assert_int_equal(told(), 0);
	start(&s[1], 1, &p->g);
	assert_int_equal(told(), 1);
	assert_fields(r, &s[0]);
	assert_memory_equal(r->parent_id, s[0].parent.span_id, 8);
	assert_int_equal(r->status, 2);
	assert_int_equal(r->kind, 5);
	assert_int_equal(r->name_copied, 10);
	assert_memory_equal(r->name, "POST /cart", 10);
	/* What this SDK version does not have is left out. */
	target.span.parent_id = target.span.status = target.span.kind = TARGET_SPAN_NO_FIELD;
	assert_int_equal(capture_set_process(p->capture.capture, getpid(), &target), 0);
	end(&s[1]);
	fill(&s[2], "GET");
	fake_start(&s[2], &p->g);
	end(&s[2]);
	start(&s[3], 3, &p->g);
	assert_int_equal(told(), 2);
	assert_told(0, &s[1]);
	assert_fields(&r[1], &s[2]);
	assert_memory_equal(r[1].parent_id, no_id, 8);
	assert_int_equal(r[1].status, 0);
	assert_int_equal(r[1].kind, 0);
}

static void test_names(void **state)
{
	static char name[0x10010];
	const size_t sizes[] = {95, 96, 97, 0xfffe, 0xffff, sizeof(name), 0};
	const size_t count = sizeof(sizes) / sizeof(*sizes);
	struct program *p = program;
	const struct span_record *r = p->capture.ended;

	for (size_t i = 0; i < sizeof(name); i++)
		name[i] = (char)('a' + i % 26);
	for (size_t i = 0; i < count; i++) {
		fill(&p->spans[i], "");
		p->spans[i].name = name;
		p->spans[i].name_size = sizes[i];
		fake_start(&p->spans[i], &p->g);
		end(&p->spans[i]);
	}
	/* One whose name's memory is gone. */
	fill(&p->spans[count], "four");
	p->spans[count].name = (char *)8;
	fake_start(&p->spans[count], &p->g);
	end(&p->spans[count]);
	start(&p->spans[count + 1], 1, &p->g);
	assert_int_equal(told(), count + 1);
	for (size_t i = 0; i < count; i++) {
		assert_fields(&r[i], &p->spans[i]);
		assert_int_equal(r[i].name_copied, sizes[i] < 96 ? sizes[i] : 96);
		assert_memory_equal(r[i].name, name, r[i].name_copied);
	}
	assert_fields(&r[count], &p->spans[count]);
	assert_int_equal(r[count].name_size, 4);
	assert_int_equal(r[count].name_copied, 0);
}

/* By the next start on the goroutine, once; one that ended below an open one, when that has. */
static void test_when(void **state)
{
	struct program *p = program;
	struct fake_span *s = p->spans;
	struct target_counters before = counters();

	for (uint8_t i = 0; i < 4; i++)
		start(&s[i], 1 + i, &p->g);
	end(&s[1]);
	end(&s[3]);
	assert_int_equal(told(), 0);
	start(&s[4], 5, &p->g);
	assert_int_equal(told(), 1);
	assert_told(0, &s[3]);
	end(&s[4]);
	end(&s[2]);
	start(&s[5], 6, &p->g);
	assert_int_equal(told(), 3);
	assert_told(0, &s[4]);
	assert_told(1, &s[2]);
	assert_told(2, &s[1]);
	start(&s[6], 7, &p->g);
	assert_int_equal(told(), 0);
	assert_int_equal(counters().events[EVENT_SPANS_ENDED] - before.events[EVENT_SPANS_ENDED],
			 4);
	assert_int_equal(counters().events[EVENT_SPANS_REPLACED],
			 before.events[EVENT_SPANS_REPLACED]);
	/* A start elsewhere tells nothing of this goroutine's. */
	end(&s[6]);
	start(&s[7], 8, &p->child);
	assert_int_equal(told(), 0);
	/* One that is sampled out is a start, too. */
	fire_fake_with_value(0, 0, FAKE_UNSAMPLED_TYPE, 8, &p->g);
	assert_int_equal(told(), 1);
	assert_told(0, &s[6]);
}

/* With 16 on a goroutine room is made; what is open and must go is not told of. */
static void test_when_full(void **state)
{
	struct program *p = program;
	struct fake_span *s = p->spans;

	for (uint8_t i = 0; i < 16; i++)
		start(&s[i], 1 + i, &p->g);
	end(&s[3]);
	end(&s[0]);
	end(&s[9]);
	start(&s[16], 17, &p->g);
	assert_int_equal(told(), 3);
	assert_told(0, &s[0]);
	assert_told(1, &s[3]);
	assert_told(2, &s[9]);
	for (uint8_t i = 17; i < 21; i++)
		start(&s[i], 1 + i, &p->g);
	assert_int_equal(told(), 0);
	assert_span(sampled(), &s[20], 15, SPAN_OWN);
}

/* The runtime gives the g to another goroutine: what its last one left is told. */
static void test_reused_goroutine(void **state)
{
	struct program *p = program;
	struct fake_span *s = p->spans;

	for (uint8_t i = 0; i < 3; i++)
		start(&s[i], 1 + i, &p->g);
	end(&s[0]);
	end(&s[2]);
	p->g.goid++;
	start(&s[3], 4, &p->g);
	assert_int_equal(told(), 2);
	assert_told(0, &s[0]);
	assert_told(1, &s[2]);
	/* By a `go` statement that hands on a span. */
	start(&s[4], 5, &p->child);
	end(&s[4]);
	p->child.goid++;
	fake_go(&p->child, &p->g0);
	assert_int_equal(told(), 1);
	assert_told(0, &s[4]);
}

/* An inherited span is its creator's to tell. */
static void test_inherited(void **state)
{
	struct program *p = program;
	struct fake_span *s = p->spans;

	start(&s[0], 1, &p->g);
	fake_go(&p->child, &p->g0);
	start(&s[1], 2, &p->child);
	end(&s[0]);
	end(&s[1]);
	start(&s[2], 3, &p->child);
	assert_int_equal(told(), 1);
	assert_told(0, &s[1]);
	start(&s[3], 4, &p->g);
	assert_int_equal(told(), 1);
	assert_told(0, &s[0]);
	/* Also where it is left by a goroutine that is gone. */
	end(&s[2]);
	p->child.goid++;
	fake_go(&p->child, &p->g0);
	assert_int_equal(told(), 1);
	assert_told(0, &s[2]);
	end(&s[3]);
	p->child.goid++;
	start(&s[4], 5, &p->child);
	assert_int_equal(told(), 0);
	/* And where room is made: what stands in its place then is the child's own. */
	start(&s[5], 6, &p->g);
	assert_int_equal(told(), 1);
	p->child.goid++;
	fake_go(&p->child, &p->g0);
	end(&s[4]);
	for (uint8_t i = 6; i < 21; i++)
		start(&s[i], 1 + i, &p->child);
	end(&s[5]);
	told();
	start(&s[21], 22, &p->child);
	assert_int_equal(told(), 0);
	run_as(&p->child);
	assert_span(sampled(), &s[21], 15, SPAN_OWN);
	for (int i = 21; i > 5; i--)
		end(&s[i]);
	start(&s[22], 23, &p->child);
	assert_int_equal(told(), 16);
	assert_told(15, &s[6]);
}

/* What hides a span is not told of; that span is, once. */
static void test_hidden(void **state)
{
	struct program *p = program;
	struct fake_span *s = p->spans;
	static const uint64_t unsampled[4] = {0, 0xbbbb, 0xbbbb, 1};
	struct target_counters before = counters();

	start(&s[0], 1, &p->g);
	fire_fake_with_value(0, 0, FAKE_UNSAMPLED_TYPE, ADDRESS(unsampled), &p->g);
	assert_int_equal(sampled()->flags & SAMPLE_UNSAMPLED, SAMPLE_UNSAMPLED);
	end(&s[0]);
	start(&s[1], 2, &p->g);
	assert_int_equal(told(), 1);
	assert_told(0, &s[0]);
	fire_fake_with_value(0, 0, FAKE_UNSAMPLED_TYPE, ADDRESS(unsampled), &p->g);
	end(&s[1]);
	p->g.goid++;
	start(&s[2], 3, &p->g);
	assert_int_equal(told(), 1);
	assert_told(0, &s[1]);
	/* Its memory was used again: that, too, is one span. */
	fire_fake_with_value(0, 0, FAKE_UNSAMPLED_TYPE, ADDRESS(unsampled), &p->g);
	fake_span_make(&s[2], 0xcc, 0xcc, "another");
	start(&s[3], 4, &p->g);
	assert_int_equal(told(), 0);
	assert_int_equal(
		counters().events[EVENT_SPANS_REPLACED] - before.events[EVENT_SPANS_REPLACED], 1);
}

/* The collector was faster: counted. Memory that cannot be read now may still be open. */
static void test_memory_is_gone(void **state)
{
	struct program *p = program;
	struct target_counters before = counters();
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	struct fake_span *s =
		mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	assert_true(s != MAP_FAILED);
	start(&p->spans[0], 1, &p->g);
	end(&p->spans[0]);
	p->spans[0].context.span_id[7]++;
	start(s, 2, &p->g);
	assert_int_equal(told(), 0);
	assert_int_equal(
		counters().events[EVENT_SPANS_REPLACED] - before.events[EVENT_SPANS_REPLACED], 1);
	end(s);
	assert_int_equal(mprotect(s, page, PROT_NONE), 0);
	start(&p->spans[1], 3, &p->g);
	end(&p->spans[1]);
	assert_int_equal(told(), 0);
	assert_int_equal(mprotect(s, page, PROT_READ | PROT_WRITE), 0);
	start(&p->spans[2], 4, &p->g);
	assert_int_equal(told(), 2);
	assert_told(0, &p->spans[1]);
	assert_told(1, s);
	assert_int_equal(
		counters().events[EVENT_SPANS_REPLACED] - before.events[EVENT_SPANS_REPLACED], 1);
	munmap(s, page);
}

/* More than the agent takes: each one is either told or counted. */
static void test_too_many(void **state)
{
	enum { MANY = 1500 };
	struct program *p = program;
	struct target_counters before = counters(), after;
	uint64_t ended, lost;

	for (int i = 0; i < MANY; i++) {
		start(&p->spans[i % 2], (uint8_t)(1 + i % 100), &p->g);
		end(&p->spans[i % 2]);
	}
	after = counters();
	ended = after.events[EVENT_SPANS_ENDED] - before.events[EVENT_SPANS_ENDED];
	lost = after.lost[LOSS_SPANS_ENDED_FULL] - before.lost[LOSS_SPANS_ENDED_FULL];
	assert_int_equal(ended + lost, MANY - 1);
	assert_int_equal(ended, (1 << 18) / (sizeof(struct span_record) + 8));
	assert_int_equal(told(), ended);
	assert_int_equal(after.events[EVENT_SPANS_REPLACED], before.events[EVENT_SPANS_REPLACED]);
	start(&p->spans[2], 200, &p->g);
	assert_int_equal(told(), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_fields, begin_empty),
		cmocka_unit_test_setup(test_names, begin_empty),
		cmocka_unit_test_setup(test_when, begin_empty),
		cmocka_unit_test_setup(test_when_full, begin_empty),
		cmocka_unit_test_setup(test_reused_goroutine, begin_empty),
		cmocka_unit_test_setup(test_inherited, begin_empty),
		cmocka_unit_test_setup(test_hidden, begin_empty),
		cmocka_unit_test_setup(test_memory_is_gone, begin_empty),
		cmocka_unit_test_setup(test_too_many, begin_empty),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
