/* SPDX-License-Identifier: Apache-2.0 */
/* Threads of this process, and of one with a PID namespace of its own. */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "process/process.h"
#include "process/threads.h"

#define PATIENCE_NS 10000000000ull
#define NOBODY	    0x7fffffff

struct worker {
	pthread_t thread;
	_Atomic pid_t number;
	_Atomic bool stop;
	pthread_mutex_t held;
};

static void *spin(void *argument)
{
	struct worker *w = argument;

	atomic_store(&w->number, (pid_t)syscall(SYS_gettid));
	while (!atomic_load(&w->stop))
		continue;
	return NULL;
}

static void *wait_for_lock(void *argument)
{
	struct worker *w = argument;

	atomic_store(&w->number, (pid_t)syscall(SYS_gettid));
	pthread_mutex_lock(&w->held);
	pthread_mutex_unlock(&w->held);
	return NULL;
}

static void begin(struct worker *w, void *(*run)(void *))
{
	*w = (struct worker){.held = PTHREAD_MUTEX_INITIALIZER};
	pthread_mutex_lock(&w->held);
	assert_int_equal(pthread_create(&w->thread, NULL, run, w), 0);
	while (!atomic_load(&w->number))
		sched_yield();
}

static void end(struct worker *w)
{
	atomic_store(&w->stop, true);
	pthread_mutex_unlock(&w->held);
	pthread_join(w->thread, NULL);
}

/* Until it is in that state. */
static void assert_state(struct threads *t, pid_t number, char state)
{
	uint64_t limit_ns = clock_monotonic_ns() + PATIENCE_NS;
	struct thread_state s;
	int error;

	do {
		assert_true(clock_monotonic_ns() < limit_ns);
		error = threads_read(t, (uint64_t)number, &s);
		/* One that has not run yet looks as if the kernel did not count. */
		assert_true(!error || error == -ENOTSUP);
	} while (error || s.state != state);
}

static void test_own(void **state)
{
	struct worker spinning, waiting;
	struct thread_state before, after;
	struct process *self;
	struct threads *t;
	uint64_t limit_ns = clock_monotonic_ns() + PATIENCE_NS;
	char name[64];

	begin(&spinning, spin);
	begin(&waiting, wait_for_lock);
	assert_int_equal(process_open(getpid(), &self), 0);
	assert_int_equal(threads_open(self, &t), 0);
	assert_state(t, spinning.number, 'R');
	/* It may stand still elsewhere first. */
	do {
		assert_true(clock_monotonic_ns() < limit_ns);
		assert_state(t, waiting.number, 'S');
		threads_read_wait_channel(t, (uint64_t)waiting.number, name, sizeof(name));
	} while (!strstr(name, "futex"));
	assert_int_equal(threads_read(t, (uint64_t)spinning.number, &before), 0);
	/* It runs, or would like to; how long it is queued is told when that is over. */
	do {
		assert_true(clock_monotonic_ns() < limit_ns);
		assert_int_equal(threads_read(t, (uint64_t)spinning.number, &after), 0);
	} while (after.cpu_ns + after.queued_ns < before.cpu_ns + before.queued_ns + 30000000);
	assert_int_equal(threads_read(t, (uint64_t)waiting.number, &before), 0);
	assert_int_equal(threads_read(t, (uint64_t)waiting.number, &after), 0);
	assert_int_equal(after.cpu_ns, before.cpu_ns);
	end(&spinning);
	end(&waiting);
	/* A thread that was joined is still on its way out. */
	while (threads_read(t, (uint64_t)waiting.number, &after) != -ESRCH)
		assert_true(clock_monotonic_ns() < limit_ns);
	assert_int_equal(threads_read(t, NOBODY, &after), -ESRCH);
	assert_int_equal(threads_read(t, UINT64_MAX, &after), -ESRCH);
	assert_int_equal(threads_read(t, 0, &after), -ESRCH);
	threads_read_wait_channel(t, NOBODY, name, sizeof(name));
	assert_string_equal(name, "");
	threads_close(t);
	process_close(self);
	threads_close(NULL);
}

/* Process 1 of its own namespace, with a thread 2. */
static void be_in_container(void)
{
	static struct worker w;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	begin(&w, wait_for_lock);
	pause();
	_exit(0);
}

static void test_other_namespace(void **state)
{
	struct thread_state s;
	struct process *p;
	struct threads *t;
	int numbers[2];
	pid_t outer, between;

	assert_int_equal(pipe(numbers), 0);
	between = fork();
	if (!between) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (unshare(CLONE_NEWPID))
			_exit(1);
		outer = fork();
		if (!outer)
			be_in_container();
		if (write(numbers[1], &outer, sizeof(outer)) != sizeof(outer))
			_exit(1);
		waitpid(outer, NULL, 0);
		_exit(0);
	}
	close(numbers[1]);
	assert_int_equal(read(numbers[0], &outer, sizeof(outer)), sizeof(outer));
	close(numbers[0]);
	assert_int_equal(process_open(outer, &p), 0);
	assert_int_equal(threads_open(p, &t), 0);
	assert_state(t, 1, 'S');
	/* Its second thread may come later than the list, which is made anew after a second. */
	for (uint64_t limit_ns = clock_monotonic_ns() + PATIENCE_NS; threads_read(t, 2, &s);)
		assert_true(clock_monotonic_ns() < limit_ns);
	assert_int_equal(threads_read(t, (uint64_t)outer, &s), -ESRCH);
	kill(outer, SIGKILL);
	waitpid(between, NULL, 0);
	assert_int_equal(threads_read(t, 1, &s), -ESRCH);
	threads_close(t);
	process_close(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_own),
		cmocka_unit_test(test_other_namespace),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
