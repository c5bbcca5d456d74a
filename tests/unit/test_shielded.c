/* SPDX-License-Identifier: Apache-2.0 */
/* Calls that SIGKILL to their caller does not stop. */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "capture/shielded.h"

#define LONG_NS 200000000

struct work {
	pid_t process;
	int fds[2];
	int result;
};

static void nothing(int signal)
{
}

static int open_pipe(void *context)
{
	struct work *w = context;

	w->process = (pid_t)syscall(SYS_getpid);
	return pipe2(w->fds, O_CLOEXEC) ? -errno : w->result;
}

static int open_missing(void *context)
{
	return open("/proc/self/nothing", O_RDONLY) < 0 ? -errno : 0;
}

static int end_itself(void *context)
{
	return kill((pid_t)syscall(SYS_getpid), SIGKILL);
}

/* Says that it has begun and, much later, that it has ended. */
static int work_for_long(void *context)
{
	struct work *w = context;
	ssize_t written = write(w->fds[1], "b", 1);

	nanosleep(&(struct timespec){.tv_nsec = LONG_NS}, NULL);
	written += write(w->fds[1], "e", 1);
	return written == 2 ? 0 : -EIO;
}

static void test_caller_sees(void **state)
{
	struct work w = {.result = -EXDEV};
	char byte = 0;

	assert_int_equal(shielded_call(open_pipe, &w), -EXDEV);
	assert_true(w.process > 0);
	assert_int_not_equal(w.process, getpid());
	assert_int_equal(write(w.fds[1], "x", 1), 1);
	assert_int_equal(read(w.fds[0], &byte, 1), 1);
	assert_int_equal(byte, 'x');
	close(w.fds[0]);
	close(w.fds[1]);
	assert_int_equal(shielded_call(open_missing, NULL), -ENOENT);
	assert_int_equal(shielded_call(end_itself, NULL), -EINTR);
	assert_int_equal(waitpid(-1, NULL, __WALL), -1);
	assert_int_equal(errno, ECHILD);
}

/* One that comes meanwhile is taken by the caller, and once. */
static void test_signals(void **state)
{
	sigset_t before, after;
	struct work w = {0};

	signal(SIGCHLD, nothing);
	pthread_sigmask(SIG_SETMASK, NULL, &before);
	assert_int_equal(shielded_call(open_pipe, &w), 0);
	pthread_sigmask(SIG_SETMASK, NULL, &after);
	for (int number = 1; number < NSIG; number++)
		assert_int_equal(sigismember(&before, number), sigismember(&after, number));
	close(w.fds[0]);
	close(w.fds[1]);
	signal(SIGCHLD, SIG_DFL);
}

/* Kills a caller, or all of its group, in the midst of a call. */
static void kill_caller(bool group)
{
	struct work w;
	char byte = 0;
	int status = 0;
	pid_t caller;

	assert_int_equal(pipe2(w.fds, O_CLOEXEC), 0);
	caller = fork();
	if (!caller) {
		setpgid(0, 0);
		close(w.fds[0]);
		shielded_call(work_for_long, &w);
		_exit(0);
	}
	assert_true(caller > 0);
	close(w.fds[1]);
	assert_int_equal(read(w.fds[0], &byte, 1), 1);
	assert_int_equal(byte, 'b');
	assert_int_equal(kill(group ? -caller : caller, SIGKILL), 0);
	assert_int_equal(waitpid(caller, &status, 0), caller);
	assert_true(WIFSIGNALED(status));
	assert_int_equal(read(w.fds[0], &byte, 1), 1);
	assert_int_equal(byte, 'e');
	assert_int_equal(read(w.fds[0], &byte, 1), 0); /* and the child is gone */
	close(w.fds[0]);
}

static void test_killed(void **state)
{
	kill_caller(false);
	kill_caller(true);
}

/* A PID namespace without its first process takes no other. */
static void test_no_child(void **state)
{
	struct work w = {.result = -EXDEV};
	int status = 0;
	pid_t caller = fork(), first;

	if (!caller) {
		if (unshare(CLONE_NEWPID))
			_exit(77);
		first = fork();
		if (!first)
			_exit(0);
		waitpid(first, NULL, 0);
		_exit(fork() < 0 && shielded_call(open_pipe, &w) == -EXDEV && w.process == getpid()
			      ? 0
			      : 1);
	}
	assert_int_equal(waitpid(caller, &status, 0), caller);
	assert_true(WIFEXITED(status));
	if (WEXITSTATUS(status) == 77)
		skip(); /* needs root */
	assert_int_equal(WEXITSTATUS(status), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_caller_sees),
		cmocka_unit_test(test_signals),
		cmocka_unit_test(test_killed),
		cmocka_unit_test(test_no_child),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
