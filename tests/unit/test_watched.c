/* SPDX-License-Identifier: Apache-2.0 */
/* What looks at goroutines stand for: where they stand, and for which span. */
#include "watched_fixture.h"

static void test_parked(void **state)
{
	struct fixture *f = *state;
	const struct waiting_record *r;
	uint64_t began_ns, first_ns, second_ns, ended_ns;

	began_ns = clock_monotonic_ns();
	look(f, 1);
	first_ns = clock_monotonic_ns();
	nap(5);
	look(f, 1);
	nap(5);
	second_ns = clock_monotonic_ns();
	look(f, 1);
	ended_ns = clock_monotonic_ns();
	assert_int_equal(count(f), 0);
	r = take(f, 1);
	assert_true(r->duration_ns >= second_ns - first_ns);
	assert_true(r->duration_ns <= ended_ns - began_ns);
	assert_int_equal(r->state, WAITING_PARKED);
	assert_int_equal(r->reason, 7);
	assert_string_equal(r->channel, "");
	assert_int_equal(r->sample.header.type, RECORD_SAMPLE);
	assert_int_equal(r->sample.pid, getpid());
	assert_int_equal(r->sample.generation, GENERATION);
	assert_int_equal(r->sample.goid, 100);
	assert_int_equal(r->sample.g, fake_address(&f->one->g));
	assert_int_equal(r->sample.flags, SAMPLE_WAITING | SAMPLE_SPAN);
	assert_int_equal(r->sample.curg_pc, FAKE_TEXT + 0x10);
	assert_int_equal(r->sample.curg_count, 3);
	for (size_t i = 0; i < 3; i++)
		assert_int_equal(r->sample.words[i], FAKE_TEXT + 0x100 * (i + 1));
	assert_span(r, &f->one->spans[1], SPAN_OWN);
	assert_int_equal(r->sample.span.level, 1);
	assert_int_equal(f->stats.looks, 3);
	assert_int_equal(f->stats.moved + f->stats.unreadable + f->stats.unsampled, 0);
	/* The time until it was seen first is nobody's. */
	forget(f);
	assert_null(take(f, 0));
}

/* Each thing that may change makes it another stand; back again is another one, too. */
static void test_moves(void **state)
{
	struct fixture *f = *state;
	struct fake_goroutine *one = f->one;
	const struct fake_goroutine before = *one;

	for (int what = 0; what < 7; what++) {
		uint64_t until_ns, began_ns = clock_monotonic_ns(), sum_ns = 0;

		*one = before;
		look_twice(f, 1);
		forget(f);
		look(f, 1); /* 1: as it was */
		nap(1);
		look(f, 1);
		if (what == 0)
			one->g.wait_reason = 8;
		else if (what == 1)
			one->g.pc++;
		else if (what == 2)
			one->g.sp += 8;
		else if (what == 3)
			one->stack[FAKE_STACK_WORDS - 100] = 1; /* within the top */
		else if (what == 4)
			fake_span_end(&one->spans[1]);
		else if (what == 5)
			one->g.goid = one->goroutine.goid = 101;
		else
			one->g.status = GOROUTINE_RUNNABLE;
		look(f, 1);
		nap(1);
		look(f, 1);
		assert_int_equal(count(f), 1);
		*one = before;
		look(f, 1);
		until_ns = clock_monotonic_ns();
		assert_int_equal(count(f), 2);
		take(f, 3);
		for (const struct waiting_record *r = f->records.first; r; r = r->next)
			sum_ns += r->duration_ns;
		/* No time is lost, and none is counted twice. */
		assert_true(sum_ns >= 2000000 && sum_ns <= until_ns - began_ns);
	}
}

static void test_spans(void **state)
{
	struct fixture *f = *state;
	struct fake_goroutine *one = f->one;

	assert_span(look_twice(f, 1), &one->spans[1], SPAN_OWN);
	one->goroutine.inherited = true;
	assert_span(look_twice(f, 1), &one->spans[1], SPAN_OWN);
	fake_span_end(&one->spans[1]);
	assert_span(look_twice(f, 1), &one->spans[0], SPAN_INHERITED);
	one->goroutine.inherited = false;
	assert_span(look_twice(f, 1), &one->spans[0], SPAN_OWN);
	/* Given to another span. */
	one->spans[0].context[16]++;
	assert_null(look_twice(f, 0));
	/* Older ones count when no other is open. */
	one->older = one->goroutine;
	one->older.older = true;
	one->older.spans = one->told + 2;
	assert_span(look_twice(f, 1), &one->spans[3], SPAN_OLDER);
	one->spans[0].context[16]--;
	assert_span(look_twice(f, 1), &one->spans[0], SPAN_OWN);
	one->goroutine.goid = 99; /* another goroutine's entry */
	assert_span(look_twice(f, 1), &one->spans[3], SPAN_OLDER);
	one->goroutine.span_count = 0;
	assert_span(look_twice(f, 1), &one->spans[3], SPAN_OLDER);
	/* One that is sampled out hides it, and is counted. */
	assert_int_equal(f->stats.unsampled, 0);
	one->told[3].hides = true;
	assert_null(look_twice(f, 0));
	assert_int_equal(f->stats.unsampled, 2);
	fake_span_end(&one->spans[3]);
	assert_span(look_twice(f, 1), &one->spans[2], SPAN_OLDER);
	/* A dead one, and one that is another's. */
	one->g.status = GOROUTINE_DEAD;
	assert_null(look_twice(f, 0));
	one->g.status = GOROUTINE_WAITING;
	one->g.goid++;
	assert_null(look_twice(f, 0));
}

static void test_unreadable(void **state)
{
	struct fixture *f = *state;
	struct fake_goroutine *one = f->one;
	const struct waiting_record *r;

	/* A span: it may be open, which is for the reader of the record to find out. */
	one->told[1].address = 8;
	r = look_twice(f, 1);
	assert_int_equal(r->sample.flags, SAMPLE_WAITING | SAMPLE_SPAN_UNREADABLE);
	assert_int_equal(r->sample.span.address, 8);
	assert_memory_equal(r->sample.span.span_id, &one->told[1].span_id, 8);
	assert_int_equal(f->stats.unreadable, 2);
	one->told[1] = one->told[0];
	/* A name. */
	one->spans[0].name = (const char *)8;
	r = look_twice(f, 1);
	assert_int_equal(r->sample.span.name_copied, 0);
	assert_int_equal(r->sample.span.name_address, 8);
	/* The stack. */
	one->g.stack_low = 0x1000;
	one->g.sp = 0x1800;
	one->g.stack_high = 0x2000;
	assert_null(look_twice(f, 0));
	assert_int_equal(f->stats.unreadable, 4);
	/* The goroutine. */
	one->goroutine.g = 8;
	assert_null(look_twice(f, 0));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_parked, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_moves, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_spans, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_unreadable, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
