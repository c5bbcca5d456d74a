/* SPDX-License-Identifier: Apache-2.0 */
/* What looks at goroutines stand for: on threads, in turns, in parts. */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>

#include <sys/syscall.h>

#include "watched_fixture.h"

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
/* The first looks, as of `since_ns` ago. */
static uint64_t look_since(struct fixture *f, uint64_t since_ns)
{
	watched_close(f->watched);
	forget(f);
	assert_int_equal(watched_open(GENERATION, getpid(), &f->fake.info, 0, false,
				      clock_monotonic_ns() - since_ns, &f->watched),
			 0);
	look(f, 1);
	return take(f, 1)->duration_ns;
}

/* A goroutine that was not looked at before has stood there since then, but not for longer than its
 * span is old; of short spans some are never seen, and the others stand for them. */
static void test_first_look(void **state)
{
	struct fixture *f = *state;
	struct fake_span *span = &f->one->spans[1];
	const uint64_t second = 1000000000;

	/* Five seconds old, less the part of a second that the fixture leaves out. */
	assert_in_range(look_since(f, 2 * second), 2 * second, 3 * second);
	assert_in_range(look_since(f, 60 * second), 5 * second, 8 * second);
	span->start[1] += 6; /* it begins only now, or later */
	assert_in_range(look_since(f, 60 * second), second / 10, second / 10);
	assert_in_range(look_since(f, second / 20), second / 20, second / 10);
	/* How old it is cannot be known. */
	f->one->told[1].address = 8;
	assert_in_range(look_since(f, 60 * second), 60 * second, 61 * second);
}

static void test_failures(void **state)
{
	struct fixture *f = *state;
	const struct waiting_source source = {&f->fake, fake_get_version, fake_each};
	struct watched *none;

	f->fake.error = -EIO;
	assert_int_equal(wanted_list_fill(&f->list, &source), -EIO);
	assert_int_equal(f->list.count, 0);
	f->fake.error = 0;
	assert_int_equal(watched_open(1, 0x7fffffff, &f->fake.info, 0, false, 0, &none), -ESRCH);
	assert_null(none);
	f->fake.info.span.name = 1020; /* a hostile executable's */
	assert_int_equal(wanted_list_fill(&f->list, &source), 0);
	look_once(f, 1);
	watched_close(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_on_threads, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_many, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_parts, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_first_look, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_failures, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
