/* SPDX-License-Identifier: Apache-2.0 */
/* What looks at goroutines stand for: those of this process's own memory, in every state. */
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>

#include <cmocka.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "fake_goroutines.h"
#include "process/process.h"
#include "waiting/looks.h"
#include "waiting/watched.h"

#define GENERATION 5

struct fixture {
	struct fake_goroutines fake;
	struct fake_goroutine *one; /* the first of them */
	struct watched *watched;
	struct wanted_list list;
	struct looks looks;
	struct record_list records;
	struct waiting_stats stats;
};

static int set_up(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	fake_goroutines_open(&f->fake);
	f->one = f->fake.all;
	fake_goroutine_fill(f->one, 100, GENERATION);
	record_list_open(&f->records);
	assert_int_equal(watched_open(GENERATION, getpid(), &f->fake.info, 0, &f->watched), 0);
	*state = f;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	watched_close(f->watched);
	wanted_list_close(&f->list);
	record_list_free(&f->records);
	free(f);
	return 0;
}

static void nap(long milliseconds)
{
	nanosleep(&(struct timespec){.tv_nsec = milliseconds * 1000000}, NULL);
}

static int look_once(struct fixture *f, unsigned share)
{
	const struct watched_pass pass = {&f->list, &f->looks, share, &f->records, &f->stats};

	return watched_look(f->watched, &pass);
}

static void look(struct fixture *f, unsigned share)
{
	const struct waiting_source source = {&f->fake, fake_get_version, fake_each};

	assert_int_equal(wanted_list_fill(&f->list, &source), 0);
	assert_int_equal(look_once(f, share), 0);
}

static size_t count(const struct fixture *f)
{
	size_t n = 0;

	for (const struct waiting_record *r = f->records.first; r; r = r->next)
		n++;
	return n;
}

/* Whatever is complete by now. */
static const struct waiting_record *take(struct fixture *f, size_t records)
{
	watched_flush(f->watched, &f->records);
	assert_int_equal(count(f), records);
	return f->records.first;
}

static void forget(struct fixture *f)
{
	record_list_free(&f->records);
}

/* Two looks some time apart, and what they tell. */
static const struct waiting_record *look_twice(struct fixture *f, size_t records)
{
	watched_flush(f->watched, &f->records);
	forget(f);
	look(f, 1);
	nap(2);
	look(f, 1);
	return take(f, records);
}

static void assert_span(const struct waiting_record *r, const struct fake_span *span,
			enum span_source source)
{
	const struct sample_span *s = &r->sample.span;

	assert_int_equal(r->sample.flags & (SAMPLE_SPAN | SAMPLE_SPAN_UNREADABLE), SAMPLE_SPAN);
	assert_int_equal(s->address, fake_address(span));
	assert_int_equal(s->source, source);
	assert_memory_equal(s->trace_id, span->context, 16);
	assert_memory_equal(s->span_id, span->context + 16, 8);
	assert_int_equal(s->trace_flags, span->context[24]);
	assert_int_equal(s->name_size, span->name_size);
	assert_int_equal(s->name_copied, span->name_size);
	assert_memory_equal(s->name, span->name, span->name_size);
}

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

struct thread {
	pthread_t thread;
	struct fake_m m;
	_Atomic bool stop, ready;
	pthread_mutex_t held;
	bool spins;
};

static void *run(void *argument)
{
	struct thread *t = argument;

	t->m.thread = (uint64_t)syscall(SYS_gettid);
	atomic_store(&t->ready, true);
	while (t->spins && !atomic_load(&t->stop))
		continue;
	pthread_mutex_lock(&t->held);
	pthread_mutex_unlock(&t->held);
	return NULL;
}

static void begin(struct thread *t, bool spins)
{
	*t = (struct thread){.held = PTHREAD_MUTEX_INITIALIZER, .spins = spins};
	pthread_mutex_lock(&t->held);
	assert_int_equal(pthread_create(&t->thread, NULL, run, t), 0);
	while (!atomic_load(&t->ready))
		nap(1);
	nap(5);
}

static void end(struct thread *t)
{
	atomic_store(&t->stop, true);
	pthread_mutex_unlock(&t->held);
	pthread_join(t->thread, NULL);
}

static uint64_t sum_ns(const struct fixture *f, enum waiting_state state)
{
	uint64_t sum = 0;

	for (const struct waiting_record *r = f->records.first; r; r = r->next)
		sum += r->state == state ? r->duration_ns : 0;
	return sum;
}

static void test_on_threads(void **state)
{
	struct fixture *f = *state;
	struct fake_g *g = &f->one->g;
	struct thread waits, spins;
	const struct waiting_record *r;

	begin(&waits, false);
	begin(&spins, true);
	g->status = GOROUTINE_SYSCALL;
	g->syscall_sp = g->sp;
	g->syscall_pc = FAKE_TEXT + 0x20;
	g->syscall_fp = g->fp;
	g->m = &waits.m;
	r = look_twice(f, 1);
	assert_int_equal(r->state, WAITING_SYSCALL);
	assert_int_equal(r->reason, 0);
	assert_non_null(strstr(r->channel, "futex"));
	assert_int_equal(r->sample.curg_pc, FAKE_TEXT + 0x20);
	assert_int_equal(r->sample.flags, SAMPLE_WAITING | SAMPLE_CURG_SYSCALL | SAMPLE_SPAN);
	assert_int_equal(r->sample.curg_count, 3);
	/* What is on a CPU, or could be, waits for no system call. */
	g->m = &spins.m;
	look(f, 1);
	watched_flush(f->watched, &f->records);
	forget(f);
	for (int i = 0; i < 20; i++) {
		nap(2);
		look(f, 1);
	}
	watched_flush(f->watched, &f->records);
	assert_int_equal(sum_ns(f, WAITING_SYSCALL), 0);
	assert_int_equal(sum_ns(f, WAITING_PARKED), 0);
	forget(f);
	/* No such thread: what it seems to do counts. */
	spins.m.thread = 0x7fffffff;
	assert_int_equal(look_twice(f, 1)->state, WAITING_SYSCALL);
	assert_string_equal(f->records.first->channel, "");
	/* One that runs has no stack that could be read, but may have no CPU. */
	g->status = GOROUTINE_RUNNING;
	g->sp = g->syscall_sp = 8;
	assert_null(look_twice(f, 0));
	g->m = &waits.m;
	r = look_twice(f, 1);
	assert_int_equal(r->state, WAITING_NO_CPU);
	assert_int_equal(r->sample.curg_count + r->sample.curg_stack_count, 0);
	assert_span(r, &f->one->spans[1], SPAN_OWN);
	end(&spins);
	end(&waits);
}

/*
 * More than are read at once, and taking turns: each has its time. Turns that are joined are taken
 * to have been looked at at the mean of their times: of one goroutine that is not exact.
 */
static void test_many(void **state)
{
	struct fixture *f = *state;
	size_t looked_at = FAKE_GOROUTINES - FAKE_GOROUTINES / 10;
	uint64_t least_ns, most_ns = clock_monotonic_ns(), last_ns, all_ns = 0;
	const unsigned shares[] = {1, 1, 2, 2, 2, 4, 4, 4, 4, 8, 8, 8, 8,
				   8, 8, 8, 8, 4, 4, 4, 4, 2, 2, 1, 1};

	for (size_t i = 0; i < FAKE_GOROUTINES; i++)
		fake_goroutine_fill(&f->fake.all[i], 1000 + i, i % 10 ? GENERATION : 6);
	look(f, 1);
	least_ns = clock_monotonic_ns();
	for (size_t i = 0; i < sizeof(shares) / sizeof(*shares); i++) {
		nap(2);
		last_ns = clock_monotonic_ns();
		look(f, shares[i]);
	}
	least_ns = last_ns - least_ns;
	most_ns = clock_monotonic_ns() - most_ns;
	take(f, looked_at);
	for (const struct waiting_record *r = f->records.first; r; r = r->next) {
		assert_int_not_equal(r->sample.goid % 10, 0);
		assert_true(r->duration_ns * 100 >= least_ns * 60);
		assert_true(r->duration_ns * 100 <= most_ns * 140);
		all_ns += r->duration_ns;
	}
	assert_true(all_ns * 100 >= looked_at * least_ns * 90);
	assert_true(all_ns * 100 <= looked_at * most_ns * 110);
}

/* What goes on for long is handed over in parts. */
static void test_parts(void **state)
{
	struct fixture *f = *state;
	uint64_t began_ns = clock_monotonic_ns(), sum = 0;

	look(f, 1);
	for (int i = 0; i < 25; i++) {
		nap(90);
		look(f, 1);
	}
	assert_in_range(count(f), 1, 2);
	watched_flush(f->watched, &f->records);
	for (const struct waiting_record *r = f->records.first; r; r = r->next) {
		assert_int_equal(r->sample.curg_count, 3);
		assert_span(r, &f->one->spans[1], SPAN_OWN);
		sum += r->duration_ns;
	}
	assert_true(sum > 25 * 90000000ull && sum <= clock_monotonic_ns() - began_ns);
}

/* Nothing is known of a process that is no more, nor where the source fails. */
static void test_failures(void **state)
{
	struct fixture *f = *state;
	const struct waiting_source source = {&f->fake, fake_get_version, fake_each};
	struct watched *none;

	f->fake.error = -EIO;
	assert_int_equal(wanted_list_fill(&f->list, &source), -EIO);
	assert_int_equal(f->list.count, 0);
	f->fake.error = 0;
	assert_int_equal(watched_open(1, 0x7fffffff, &f->fake.info, 0, &none), -ESRCH);
	assert_null(none);
	f->fake.info.span.name = 1020; /* a hostile executable's */
	assert_int_equal(wanted_list_fill(&f->list, &source), 0);
	look_once(f, 1);
	watched_close(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_parked, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_moves, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_spans, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_unreadable, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_on_threads, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_many, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_parts, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_failures, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
