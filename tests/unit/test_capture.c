/* SPDX-License-Identifier: Apache-2.0 */
/* The BPF programs on this kernel: whose samples come, what is in them, who comes and goes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "capture_fixture.h"
#include "process/process.h"

#define GENERATION 77

static struct fixture *shared; /* one load of the programs for most tests */

/* Far larger than its loop: whoever runs it has its pc within SPIN_BYTES. */
#define SPIN_BYTES 256
static volatile uint64_t spins; /* not on the stack, which is compared */
static __attribute__((noinline)) void spin(void)
{
	for (;;)
		spins++;
}

/* Nearly all its time in the kernel. */
static __attribute__((noinline)) void read_zeros(void)
{
	static char buffer[1 << 20];
	int fd = open("/dev/zero", O_RDONLY);

	while (read(fd, buffer, sizeof(buffer)) > 0)
		continue;
	_exit(1);
}

static pid_t start(void (*work)(void))
{
	pid_t pid = fork();

	if (!pid) {
		die_with_parent();
		work();
		_exit(0);
	}
	assert_true(pid > 0);
	return pid;
}

static void end(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

static struct process *look_at(pid_t pid)
{
	struct process *p;

	assert_int_equal(process_open(pid, &p), 0);
	assert_int_equal(process_read_mappings(p), 0);
	return p;
}

static void assert_usual(const struct seen_sample *s, pid_t pid, uint64_t start_ns)
{
	assert_int_equal(s->sample.pid, pid);
	assert_int_equal(s->sample.tid, pid);
	assert_in_range(s->sample.time_ns, start_ns, clock_monotonic_ns());
	assert_int_equal(s->sample.goid, 0);
	assert_int_equal(s->sample.curg_pc, 0);
	assert_int_equal(s->sample.curg_count, 0);
	assert_int_equal(s->sample.span.address, 0);
}

/* Only the one that was named, with its registers and the top of its stack. */
static void test_samples(void **state)
{
	struct target_process target = {.generation = GENERATION};
	uint64_t start_ns = clock_monotonic_ns(), now[8];
	struct fixture *f = shared;
	pid_t other = start(spin), pid = start(spin);
	size_t in_user = 0;
	struct process *p;

	forget_records(f);
	assert_int_equal(capture_set_process(f->capture, pid, &target), 0);
	wait_for(f, &f->sample_count, 20);
	p = look_at(pid);
	for (size_t i = 0; i < f->sample_count && i < SEEN_MAX; i++) {
		const struct seen_sample *s = &f->samples[i];

		assert_usual(s, pid, start_ns);
		assert_int_equal(s->sample.generation, GENERATION);
		if (s->sample.flags & (SAMPLE_IN_KERNEL | SAMPLE_NO_REGISTERS) ||
		    s->sample.pc - (uint64_t)(uintptr_t)spin >= SPIN_BYTES)
			continue; /* on its way into the loop, or interrupted in the kernel */
		in_user++;
		/* The chain of C code is no Go stack. */
		assert_int_equal(s->sample.flags, SAMPLE_DEEP);
		assert_int_equal(s->sample.kernel_count, 0);
		assert_string_equal(process_find_mapping(p, s->sample.sp)->path, "[stack]");
		assert_true(s->sample.stack_count >= 8);
		if (stack_words(s) + 8 > s->words + WORDS_MAX)
			continue;
		assert_int_equal(process_read_memory(p, s->sample.sp, now, sizeof(now)), 0);
		assert_memory_equal(stack_words(s), now, sizeof(now));
	}
	assert_true(in_user >= 10);
	process_close(p);
	end(pid);
	end(other);
}

/* The registers at the system call, by the distance that was measured when it was opened. */
static void test_in_kernel(void **state)
{
	struct target_process target = {.generation = GENERATION + 1};
	uint64_t start_ns = clock_monotonic_ns();
	struct fixture *f = shared;
	pid_t pid = start(read_zeros);
	size_t in_kernel = 0;
	struct process *p;

	forget_records(f);
	assert_int_equal(capture_set_process(f->capture, pid, &target), 0);
	wait_for(f, &f->sample_count, 30);
	p = look_at(pid);
	for (size_t i = 0; i < f->sample_count && i < SEEN_MAX; i++) {
		const struct seen_sample *s = &f->samples[i];
		const struct process_mapping *code = process_find_mapping(p, s->sample.pc);

		assert_usual(s, pid, start_ns);
		assert_int_equal(s->sample.flags & SAMPLE_NO_REGISTERS, 0);
		if (!(s->sample.flags & SAMPLE_IN_KERNEL))
			continue;
		in_kernel++;
		assert_true(code && code->executable);
		assert_string_equal(process_find_mapping(p, s->sample.sp)->path, "[stack]");
		assert_in_range(s->sample.kernel_count, 1, RECORD_KERNEL_MAX);
		if (s->sample.chain_count < WORDS_MAX) /* addresses of the kernel's half */
			assert_true(s->words[s->sample.chain_count] >> 63);
	}
	assert_true(in_kernel >= 15);
	process_close(p);
	end(pid);
}

static void test_pending(void **state)
{
	struct target_process target = {.flags = TARGET_PENDING};
	uint64_t start_ns = clock_monotonic_ns();
	struct fixture *f = shared;
	pid_t pid = start(spin);

	forget_records(f);
	assert_int_equal(capture_set_process(f->capture, pid, &target), 0);
	wait_for(f, &f->sample_count, 3);
	assert_usual(&f->samples[0], pid, start_ns);
	assert_int_equal(f->samples[0].sample.generation, 0);
	assert_int_equal(f->samples[0].sample.flags & SAMPLE_PENDING, SAMPLE_PENDING);

	/* Another generation is not forgotten by this one's number. */
	target.generation = GENERATION + 2;
	assert_int_equal(capture_set_process(f->capture, pid, &target), 0);
	capture_forget_process(f->capture, pid, GENERATION + 1);
	forget_records(f);
	wait_for(f, &f->sample_count, 2);
	capture_forget_process(f->capture, pid, GENERATION + 2);
	forget_records(f);
	for (int i = 0; i < 20; i++)
		poll_capture(f);
	assert_int_equal(f->sample_count, 0);
	end(pid);
}

static const struct process_record *find(const struct process_record *records, size_t count,
					 pid_t pid)
{
	for (size_t i = 0; i < count && i < SEEN_MAX; i++)
		if (records[i].pid == (__u32)pid)
			return &records[i];
	return NULL;
}

/* Runs a shell's script when it is let go by a byte. */
static pid_t start_shell(const char *script, int *go)
{
	int ends[2];
	char byte;
	pid_t pid;

	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	pid = fork();
	if (!pid) {
		die_with_parent();
		if (read(ends[0], &byte, 1) == 1)
			execl("/bin/sh", "sh", "-c", script, NULL);
		_exit(127);
	}
	close(ends[0]);
	*go = ends[1];
	return pid;
}

static void let_go(int go)
{
	assert_int_equal(write(go, "g", 1), 1);
	close(go);
}

/* A followed process, and what it forks; nobody else's. */
static void test_followed(void **state)
{
	uint64_t start_ns = clock_monotonic_ns();
	struct fixture *f = shared;
	int go, other_go;
	pid_t pid = start_shell("/bin/sleep 0; exit 3", &go);
	pid_t other = start_shell("/bin/sleep 0", &other_go);
	const struct process_record *exec, *exit;

	forget_records(f);
	assert_int_equal(capture_follow(f->capture, pid), 0);
	let_go(other_go);
	waitpid(other, NULL, 0);
	let_go(go);
	wait_for(f, &f->exit_count, 2);
	waitpid(pid, NULL, 0);

	exec = find(f->execs, f->exec_count, pid);
	assert_non_null(exec);
	assert_int_equal(exec->parent_pid, getpid());
	assert_int_equal(exec->generation, 0);
	assert_string_equal(exec->comm, "sh");
	assert_in_range(exec->time_ns, start_ns, clock_monotonic_ns());
	assert_int_equal(f->exec_count, 2);
	exec = f->execs[0].pid == (__u32)pid ? &f->execs[1] : &f->execs[0];
	assert_int_equal(exec->parent_pid, pid);
	assert_string_equal(exec->comm, "sleep");
	exit = find(f->exits, f->exit_count, (pid_t)exec->pid);
	assert_non_null(exit);
	assert_int_equal(exit->parent_pid, pid);
	exit = find(f->exits, f->exit_count, pid);
	assert_non_null(exit);
	assert_int_equal(exit->generation, 0);
	assert_int_equal(f->exit_count, 2);
}

/* A known image ends with an exec: its offsets must not meet the next. */
static void test_image_ends(void **state)
{
	struct target_process target = {.generation = GENERATION + 3};
	struct fixture *f = shared;
	int go;
	pid_t pid = start_shell("while :; do :; done", &go);
	const struct process_record *exec;
	pid_t ended = start(spin);

	forget_records(f);
	assert_int_equal(capture_set_process(f->capture, pid, &target), 0);
	let_go(go);
	wait_for(f, &f->exec_count, 1);
	exec = find(f->execs, f->exec_count, pid);
	assert_non_null(exec);
	assert_int_equal(exec->generation, GENERATION + 3);
	/* The image that it runs now is still to be read. */
	forget_records(f);
	wait_for(f, &f->sample_count, 2);
	assert_int_equal(f->samples[1].sample.generation, 0);
	assert_int_equal(f->samples[1].sample.flags & SAMPLE_PENDING, SAMPLE_PENDING);
	/* Nobody wants it: from here on it is not ours. */
	capture_forget_process(f->capture, pid, 0);
	forget_records(f);
	for (int i = 0; i < 20; i++)
		poll_capture(f);
	assert_int_equal(f->sample_count, 0);
	end(pid);

	target.generation++;
	assert_int_equal(capture_set_process(f->capture, ended, &target), 0);
	end(ended);
	wait_for(f, &f->exit_count, 1);
	assert_int_equal(f->exits[0].pid, ended);
	assert_int_equal(f->exits[0].generation, GENERATION + 4);
}

/* Only a process's last thread ends it. */
static void *sleep_a_moment(void *argument)
{
	nanosleep(&(struct timespec){.tv_nsec = 300000000}, NULL);
	if (argument)
		_exit(0);
	return NULL;
}

static void threads(void)
{
	pthread_t thread;

	for (int i = 0; i < 3; i++) {
		pthread_create(&thread, NULL, sleep_a_moment, NULL);
		pthread_join(thread, NULL);
	}
	pthread_create(&thread, NULL, sleep_a_moment, "last");
	pthread_exit(NULL); /* the main thread first */
}

static void test_threads(void **state)
{
	struct target_process target = {.generation = GENERATION + 5};
	struct fixture *f = shared;
	uint64_t start_ns = clock_monotonic_ns();
	pid_t pid;

	forget_records(f);
	pid = start(threads);
	assert_int_equal(capture_set_process(f->capture, pid, &target), 0);
	wait_for(f, &f->exit_count, 1);
	assert_int_equal(f->exits[0].pid, pid);
	assert_true(f->exits[0].time_ns - start_ns > 1000000000);
	waitpid(pid, NULL, 0);
	for (int i = 0; i < 10; i++)
		poll_capture(f);
	assert_int_equal(f->exit_count, 1);
}

/* What was counted is what was handed over, as long as nothing was lost. */
static void test_stats(void **state)
{
	struct target_process target = {.generation = GENERATION + 6};
	struct fixture *f = shared;
	struct capture_stats before, after;
	pid_t pid = start(spin);

	forget_records(f);
	capture_get_stats(f->capture, &before);
	assert_int_equal(before.cpus, sysconf(_SC_NPROCESSORS_ONLN));
	assert_in_range(before.map_bytes, 1 << 20, 16 << 20);
	assert_int_equal(capture_set_process(f->capture, pid, &target), 0);
	wait_for(f, &f->sample_count, 10);
	capture_forget_process(f->capture, pid, target.generation);
	for (int i = 0; i < 3; i++)
		poll_capture(f);
	capture_get_stats(f->capture, &after);
	assert_int_equal(after.counters.events[EVENT_SAMPLES] -
				 before.counters.events[EVENT_SAMPLES],
			 f->sample_count);
	assert_true(after.counters.events[EVENT_TICKS] - before.counters.events[EVENT_TICKS] >=
		    f->sample_count);
	assert_int_equal(after.counters.events[EVENT_SAMPLES_IN_SPAN], 0);
	for (int i = 0; i < LOSS_REASON_COUNT; i++)
		if (i != LOSS_STACK_UNREADABLE)
			assert_int_equal(after.counters.lost[i], before.counters.lost[i]);
	capture_sweep(f->capture);
	end(pid);
}

static int set_up(void **state)
{
	struct capture_config config = usual_config();

	shared = calloc(1, sizeof(*shared));
	begin_capture(shared, &config);
	return 0;
}

static int tear_down(void **state)
{
	capture_close(shared->capture);
	free(shared);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_samples),	   cmocka_unit_test(test_in_kernel),
		cmocka_unit_test(test_pending),	   cmocka_unit_test(test_followed),
		cmocka_unit_test(test_image_ends), cmocka_unit_test(test_threads),
		cmocka_unit_test(test_stats),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
