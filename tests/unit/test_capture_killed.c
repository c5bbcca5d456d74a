/* SPDX-License-Identifier: Apache-2.0 */
/* SIGKILL while a probe is being attached or detached: nothing of it stays in the target's text. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "capture/own_text.h"
#include "capture_fixture.h"

/* Of kills in a detach that is not shielded one in six leaves a breakpoint. */
#define KILLS	      24
#define ATTACH_KILLS  6
#define SPREAD_NS     20000000 /* the kernel waits as long before it changes the text */
#define REST_NS	      100000000
#define GONE_ATTEMPTS 300 /* of 10 ms */

enum step { BEGINS, ATTACHES, DETACHES };

/* What the one who is killed tells. */
struct progress {
	_Atomic enum step step;
};

static struct fixture fixture;

static __attribute__((noinline)) int probed(volatile int *calls)
{
	return ++*calls;
}

static void rest(uint64_t ns)
{
	nanosleep(&(struct timespec){.tv_nsec = (long)ns}, NULL);
}

static pid_t start_target(void)
{
	pid_t pid = fork();

	if (!pid) {
		die_with_parent();
		for (;;)
			pause();
	}
	assert_true(pid > 0);
	return pid;
}

/* Whether the function is the same there as in our own memory, which has no probe. */
static bool is_clean(int memory)
{
	uint8_t there[4];

	assert_int_equal(pread(memory, there, sizeof(there), (off_t)(uintptr_t)probed),
			 sizeof(there));
	return !memcmp(there, (const void *)(uintptr_t)probed, sizeof(there));
}

/* Attaches and detaches until it is killed. */
static void take_turns(struct progress *p, pid_t target, uint64_t offset)
{
	char path[64], why[256];
	int probe = -1;

	die_with_parent();
	snprintf(path, sizeof(path), "/proc/%d/exe", target);
	for (;;) {
		rest(REST_NS);
		atomic_store(&p->step, ATTACHES);
		if (capture_attach(fixture.capture, CAPTURE_PROBE_NEWPROC, target, path, offset,
				   &probe, why, sizeof(why)))
			_exit(1);
		rest(REST_NS); /* the grace period of the attach is over */
		atomic_store(&p->step, DETACHES);
		capture_detach(fixture.capture, probe);
	}
}

static void kill_in(enum step step, struct progress *p, pid_t target, int memory, uint64_t offset)
{
	int status = 0, attempts = GONE_ATTEMPTS;
	pid_t pid;

	atomic_store(&p->step, BEGINS);
	pid = fork();
	if (!pid)
		take_turns(p, target, offset);
	assert_true(pid > 0);
	while (atomic_load(&p->step) != step && !waitpid(pid, &status, WNOHANG))
		rest(100000);
	if (step == DETACHES)
		assert_false(is_clean(memory));
	rest((uint64_t)rand() % SPREAD_NS);
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	while (!is_clean(memory) && --attempts)
		rest(10000000);
	assert_true(is_clean(memory));
}

static void test_killed(void **state)
{
	struct progress *p =
		mmap(NULL, sizeof(*p), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct capture_config config = usual_config();
	char path[64], why[512] = "";
	pid_t target = start_target();
	uint64_t offset = 0;
	int memory;

	assert_ptr_not_equal(p, MAP_FAILED);
	assert_int_equal(own_text_offset(probed, &offset), 0);
	assert_int_equal(open_capture(&fixture, &config, why, sizeof(why)), 0);
	snprintf(path, sizeof(path), "/proc/%d/mem", target);
	memory = open(path, O_RDONLY | O_CLOEXEC);
	assert_true(memory >= 0);
	for (int i = 0; i < KILLS; i++)
		kill_in(DETACHES, p, target, memory, offset);
	for (int i = 0; i < ATTACH_KILLS; i++)
		kill_in(ATTACHES, p, target, memory, offset);
	close(memory);
	capture_close(fixture.capture);
	kill(target, SIGKILL);
	waitpid(target, NULL, 0);
	munmap(p, sizeof(*p));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_killed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
