/* SPDX-License-Identifier: Apache-2.0 */
/* Looks at goroutines outside spans, too: all that the runtime lists, alike ones as one. */
#include "waiting/roster.h"
#include "watched_fixture.h"

#define COUNT 50

/* As the runtime has them: not in the order of their addresses. */
struct all_goroutines {
	uint64_t slice[3]; /* data, length, capacity */
	uint64_t list[FAKE_GOROUTINES];
};

static struct all_goroutines *list_of(struct fixture *f)
{
	struct all_goroutines *a = calloc(1, sizeof(*a));

	for (size_t i = 0; i < FAKE_GOROUTINES; i++)
		a->list[i] = fake_address(&f->fake.all[FAKE_GOROUTINES - 1 - i].g);
	a->slice[0] = fake_address(a->list);
	a->slice[2] = FAKE_GOROUTINES;
	f->fake.info.allgs = fake_address(a->slice);
	return a;
}

/* All but the first, of which a span is told, stand outside spans. */
static struct all_goroutines *begin(struct fixture *f, bool outside)
{
	struct all_goroutines *a = list_of(f);

	for (size_t i = 0; i < COUNT; i++) {
		fake_goroutine_fill(&f->fake.all[i], 100 + i, GENERATION);
		f->fake.all[i].goroutine.span_count = i ? 0 : 2;
		a->list[i] = fake_address(&f->fake.all[COUNT - 1 - i].g);
	}
	a->slice[1] = COUNT;
	watched_close(f->watched);
	assert_int_equal(
		watched_open(GENERATION, getpid(), &f->fake.info, 0, outside, 0, &f->watched), 0);
	return a;
}

static const struct waiting_record *find(const struct fixture *f, enum waiting_state state,
					 bool has_span)
{
	for (const struct waiting_record *r = f->records.first; r; r = r->next)
		if (r->state == state && has_span == !!(r->sample.flags & SAMPLE_SPAN))
			return r;
	fail_msg("no such record");
	return NULL;
}

static void test_alike(void **state)
{
	struct fixture *f = *state;
	struct all_goroutines *a = begin(f, true);
	const struct waiting_record *one, *others;

	look_twice(f, 2);
	one = find(f, WAITING_PARKED, true);
	others = find(f, WAITING_PARKED, false);
	assert_span(one, &f->one->spans[1], SPAN_OWN);
	assert_int_equal(others->duration_ns, (COUNT - 1) * one->duration_ns);
	assert_int_equal(others->sample.span.address, 0);
	assert_int_equal(others->sample.curg_pc, FAKE_TEXT + 0x10);
	assert_int_equal(others->sample.curg_count, 3);
	assert_int_equal(f->stats.looks, 2 * COUNT);
	free(a);
}

static void test_not_alike(void **state)
{
	struct fixture *f = *state;
	struct all_goroutines *a = begin(f, true);

	f->fake.all[3].g.wait_reason = 8;
	f->fake.all[4].g.pc += 4;
	f->fake.all[5].stack[81] += 4;		      /* who called */
	f->fake.all[6].g.status = GOROUTINE_RUNNABLE; /* and with words of its own */
	f->fake.all[7].g.status = GOROUTINE_RUNNABLE;
	f->fake.all[8].g.status = GOROUTINE_DEAD;
	f->fake.all[9].g.goid = 0;
	look_twice(f, 7);
	assert_int_equal(find(f, WAITING_PARKED, false)->sample.curg_count, 3);
	free(a);
}

/* Those that leave take nothing of the others' time with them. */
static void test_leave(void **state)
{
	struct fixture *f = *state;
	struct all_goroutines *a = begin(f, true);
	uint64_t sum_ns = 0, one_ns = 0;

	look(f, 1);
	nap(2);
	look(f, 1);
	for (size_t i = 1; i < COUNT - 1; i++)
		f->fake.all[i].g.status = GOROUTINE_DEAD;
	nap(2);
	look(f, 1);
	assert_int_equal(count(f), 0); /* the last one goes on */
	f->fake.all[COUNT - 1].g.wait_reason = 8;
	nap(2);
	look(f, 1);
	assert_int_equal(count(f), 1);
	watched_flush(f->watched, &f->records);
	assert_int_equal(count(f), 3);
	for (const struct waiting_record *r = f->records.first; r; r = r->next) {
		sum_ns += r->sample.flags & SAMPLE_SPAN ? 0 : r->duration_ns;
		one_ns += r->sample.flags & SAMPLE_SPAN ? r->duration_ns : 0;
	}
	assert_true(sum_ns > one_ns + (COUNT - 2) * 2000000ull);
	assert_true(sum_ns < (COUNT - 1) * one_ns);
	free(a);
}

/* A goroutine whose span has ended is outside; and so is one whose spans are of a goroutine before.
 */
static void test_span_over(void **state)
{
	struct fixture *f = *state;
	struct all_goroutines *a = begin(f, true);

	fake_span_end(&f->one->spans[0]);
	fake_span_end(&f->one->spans[1]);
	look_twice(f, 1);
	assert_int_equal(f->records.first->sample.flags, SAMPLE_WAITING);
	assert_int_equal(f->records.first->sample.span.address, 0);
	free(a);
	a = begin(f, true);
	f->one->g.goid++;
	look_twice(f, 1);
	assert_int_equal(f->records.first->sample.flags, SAMPLE_WAITING);
	/* One that is sampled out hides it, and is none. */
	free(a);
	a = begin(f, true);
	f->one->told[1].hides = true;
	look_twice(f, 1);
	assert_int_equal(f->records.first->sample.flags, SAMPLE_WAITING);
	assert_true(f->stats.unsampled > 0);
	free(a);
}

static void test_not_wanted(void **state)
{
	struct fixture *f = *state;
	struct all_goroutines *a = begin(f, false);

	assert_span(look_twice(f, 1), &f->one->spans[1], SPAN_OWN);
	assert_int_equal(f->stats.looks, 2);
	free(a);
}

/* Where the list is not found, or cannot be read, those with spans are looked at. */
static void test_no_list(void **state)
{
	struct fixture *f = *state;
	struct all_goroutines *a = begin(f, true);

	f->fake.info.allgs = 0;
	assert_span(look_twice(f, 1), &f->one->spans[1], SPAN_OWN);
	f->fake.info.allgs = 8;
	assert_span(look_twice(f, 1), &f->one->spans[1], SPAN_OWN);
	/* A list that is found later, and grows. */
	f->fake.info.allgs = fake_address(a->slice);
	look_twice(f, 2);
	a->slice[1] = 10;
	f->stats.looks = 0;
	look_twice(f, 2);
	assert_int_equal(f->stats.looks, 2 * (10 + 1));
	free(a);
}

/* More than are looked at at once, each in its turn. */
static void test_turns(void **state)
{
	struct fixture *f = *state;
	struct all_goroutines *a = begin(f, true);

	for (size_t i = 0; i < FAKE_GOROUTINES; i++) {
		fake_goroutine_fill(&f->fake.all[i], 100 + i, GENERATION);
		f->fake.all[i].goroutine.span_count = 0;
		a->list[i] = fake_address(&f->fake.all[FAKE_GOROUTINES - 1 - i].g);
	}
	a->slice[1] = FAKE_GOROUTINES;
	look(f, 1);
	assert_int_equal(f->stats.looks, FAKE_GOROUTINES);
	f->stats.looks = 0;
	look(f, 2);
	assert_in_range(f->stats.looks, FAKE_GOROUTINES / 4, FAKE_GOROUTINES * 3 / 4);
	look(f, 2);
	assert_int_equal(f->stats.looks, FAKE_GOROUTINES);
	free(a);
}

/* What was told comes with those that are listed, in one order, each once. */
static void test_roster(void **state)
{
	struct fixture *f = *state;
	struct process *p;
	struct roster *r;
	struct all_goroutines *a = begin(f, true);
	const struct wanted told[] = {
		{.g = 8},
		{.g = a->list[COUNT - 1]},
		{.g = a->list[COUNT - 1], .older = true},
		{.g = UINT64_MAX, .older = true},
	};
	struct roster_entry e;
	uint64_t last = 0;

	assert_int_equal(process_open(getpid(), &p), 0);
	assert_int_equal(roster_open(true, &r), 0);
	roster_begin(r, p, &f->fake.info, 0, told, 4);
	for (size_t i = 0; i < COUNT + 2; i++) {
		assert_true(roster_next(r, &e));
		assert_true(e.g > last);
		last = e.g;
		assert_ptr_equal(e.own, i < 2 ? &told[i] : NULL);
		assert_ptr_equal(e.older, i == 1 ? &told[2] : i == COUNT + 1 ? &told[3] : NULL);
	}
	assert_false(roster_next(r, &e));
	roster_begin(r, p, &f->fake.info, 0, NULL, 0);
	assert_true(roster_next(r, &e));
	assert_int_equal(e.g, a->list[COUNT - 1]);
	roster_close(r);
	assert_int_equal(roster_open(false, &r), 0);
	roster_begin(r, p, &f->fake.info, 0, told, 1);
	assert_true(roster_next(r, &e));
	assert_false(roster_next(r, &e));
	roster_close(r);
	roster_close(NULL);
	process_close(p);
	free(a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_alike, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_not_alike, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_leave, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_span_over, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_not_wanted, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_no_list, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_turns, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_roster, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
