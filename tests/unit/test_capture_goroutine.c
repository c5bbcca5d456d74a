/* SPDX-License-Identifier: Apache-2.0 */
/* Where a sample's goroutine stands, and memory that cannot be read, on this kernel. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fake_program.h"

/* Memory that is not there: counted, and never a wrong span. */
static void test_unreadable(void **state)
{
	struct program *p = program;
	struct target_counters before = counters();
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	struct fake_span *s =
		mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	const struct sample_record *sample;

	assert_true(s != MAP_FAILED);
	fake_span_make(s, 0xaa, 1, "goes");
	fake_start(s, &p->g);
	assert_span(sampled(), s, 0, SPAN_OWN);
	s->name = (char *)1;
	sample = sampled(); /* a name elsewhere: the span is known all the same */
	assert_true(sample->flags & SAMPLE_SPAN);
	assert_int_equal(sample->span.name_copied, 0);
	assert_int_equal(sample->span.name_size, 4);
	assert_int_equal(mprotect(s, page, PROT_NONE), 0);
	sample = sampled();
	assert_int_equal(sample->flags & SAMPLE_SPAN, 0);
	assert_int_equal(sample->flags & SAMPLE_SPAN_UNREADABLE, SAMPLE_SPAN_UNREADABLE);
	assert_true(counters().lost[LOSS_SPAN_UNREADABLE] > before.lost[LOSS_SPAN_UNREADABLE]);
	munmap(s, page);
	fake_start(s, &p->g);
	assert_int_equal(counters().lost[LOSS_SPAN_START_UNREADABLE] -
				 before.lost[LOSS_SPAN_START_UNREADABLE],
			 1);
	/* A goroutine that cannot be read has none. */
	p->g.m = NULL;
	sample = sampled();
	assert_no_span(sample);
	assert_int_equal(sample->goid, 0);
	assert_true(counters().lost[LOSS_G_UNREADABLE] > before.lost[LOSS_G_UNREADABLE]);
	fake_current_g = NULL; /* a thread of C */
	assert_int_equal(sampled()->goid, 0);
}

/* On g0: the goroutine is the thread's, and its own stack lies where it was left. */
static void test_system_stack(void **state)
{
	struct program *p = program;
	const struct sample_record *sample;

	fake_span_make(&p->spans[0], 0xaa, 1, "on g0");
	fake_start(&p->spans[0], &p->g);
	p->g.sched_pc = 0x1234;
	p->g.sched_sp = ADDRESS(p->spans);
	p->g.sched_bp = 0x5678;
	fake_current_g = &p->g0;
	sample = sampled();
	assert_span(sample, &p->spans[0], 0, SPAN_OWN);
	assert_int_equal(sample->goid, 41);
	assert_int_equal(sample->flags & (SAMPLE_SYSTEM_STACK | SAMPLE_CURG_SYSCALL),
			 SAMPLE_SYSTEM_STACK);
	assert_int_equal(sample->curg_pc, 0x1234);
	assert_int_equal(sample->curg_sp, ADDRESS(p->spans));
	assert_int_equal(sample->curg_fp, 0x5678);
	assert_int_equal(sample->curg_stack_count > 0, 1);

	/* The words end with the goroutine's stack. */
	p->g.stack_hi = p->g.sched_sp + 24;
	assert_int_equal(sampled()->curg_stack_count, 3);

	p->g.syscall_sp = p->g.sched_sp + 8;
	p->g.syscall_pc = 0x4321;
	sample = sampled();
	assert_int_equal(sample->flags & (SAMPLE_SYSTEM_STACK | SAMPLE_CURG_SYSCALL),
			 SAMPLE_SYSTEM_STACK | SAMPLE_CURG_SYSCALL);
	assert_int_equal(sample->curg_pc, 0x4321);
	assert_int_equal(sample->curg_sp, p->g.sched_sp + 8);
	assert_int_equal(sample->curg_stack_count, 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_unreadable, begin),
		cmocka_unit_test_setup(test_system_stack, begin),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
