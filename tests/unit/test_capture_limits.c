/* SPDX-License-Identifier: Apache-2.0 */
/* Capture at its limits: a full ring, missing rights, probes that come and go, nothing left over.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <bpf/bpf.h>
#include <cmocka.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "capture_fixture.h"
#include "open_files.h"

static __attribute__((noinline)) void spin(void)
{
	for (volatile uint64_t i = 0;; i++)
		continue;
}

static pid_t start_spinning(void)
{
	pid_t pid = fork();

	if (!pid) {
		die_with_parent();
		spin();
	}
	return pid;
}

static void end(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

/* Records that find no room are counted, one by one; those before them come whole. */
static void test_full_ring(void **state)
{
	struct target_process target = {.generation = 5};
	struct capture_config config = usual_config();
	struct fixture *f = calloc(1, sizeof(*f));
	struct capture_stats stats;
	uint64_t limit_ns;
	pid_t pid;

	config.ring_bytes = 16384; /* a few records with a deep stack */
	config.frequency_hz = 2000;
	begin_capture(f, &config);
	pid = start_spinning();
	assert_int_equal(capture_set_process(f->capture, pid, &target), 0);
	limit_ns = clock_monotonic_ns() + PATIENCE_S * 1000000000ull;
	do {
		nanosleep(&(struct timespec){.tv_nsec = 50000000}, NULL);
		capture_get_stats(f->capture, &stats);
	} while (stats.counters.lost[LOSS_RING_FULL] < 20 && clock_monotonic_ns() < limit_ns);
	end(pid);
	capture_stop(f->capture);
	capture_stop(f->capture);
	capture_get_stats(f->capture, &stats);
	while (capture_poll(f->capture) > 0)
		continue;
	assert_true(stats.counters.lost[LOSS_RING_FULL] >= 20);
	assert_in_range(f->sample_count, 1, 16384 / sizeof(struct sample_record));
	/* The exit's announcement may have been lost as well. */
	assert_in_range(f->sample_count + stats.counters.lost[LOSS_RING_FULL],
			stats.counters.events[EVENT_SAMPLES],
			stats.counters.events[EVENT_SAMPLES] + 1);
	assert_int_equal(stats.cpus, 0);
	capture_close(f->capture);
	free(f);
}

static void dawdle(void *context, const struct sample_record *record)
{
	size_t *seen = context;

	nanosleep(&(struct timespec){.tv_nsec = 60000000}, NULL);
	++*seen;
}

static void ignore_process(void *context, const struct process_record *record)
{
}

static void ignore_span(void *context, const struct span_record *record)
{
}

/* A round ends although there is more: its reader has other things to do. */
static void test_slow_reader(void **state)
{
	struct target_process target = {.generation = 5};
	struct capture_config config = usual_config();
	struct capture *capture;
	size_t seen = 0;
	char why[512];
	pid_t pid;

	assert_int_equal(
		capture_open(&config,
			     &(struct capture_handler){&seen, dawdle, ignore_process,
						       ignore_process, ignore_process, ignore_span},
			     &capture, why, sizeof(why)),
		0);
	assert_int_equal(capture_start(capture, why, sizeof(why)), 0);
	pid = start_spinning();
	assert_int_equal(capture_set_process(capture, pid, &target), 0);
	nanosleep(&(struct timespec){.tv_nsec = 500000000}, NULL);
	end(pid);
	capture_stop(capture);
	assert_true(capture_poll(capture) > 0);
	assert_in_range(seen, 1, 2);
	assert_true(capture_poll(capture) > 0);
	assert_in_range(seen, 2, 4);
	capture_close(capture);
}

static void test_every_process(void **state)
{
	struct capture_config config = usual_config();
	struct fixture *f = calloc(1, sizeof(*f));
	bool found = false;
	pid_t pid;

	config.every_process = true;
	begin_capture(f, &config);
	pid = fork();
	if (!pid) {
		execl("/bin/sleep", "sleep", "0", NULL);
		_exit(127);
	}
	waitpid(pid, NULL, 0);
	while (capture_poll(f->capture) > 0)
		continue;
	for (size_t i = 0; i < f->exec_count && i < SEEN_MAX; i++)
		found |= f->execs[i].pid == (__u32)pid && !strcmp(f->execs[i].comm, "sleep");
	assert_true(found);
	found = false;
	for (size_t i = 0; i < f->exit_count && i < SEEN_MAX; i++)
		found |= f->exits[i].pid == (__u32)pid;
	assert_true(found);
	capture_close(f->capture);
	free(f);
}

/* IDs of our programs, as the kernel tells by their descriptors. */
static size_t program_ids(uint32_t *ids, size_t max)
{
	DIR *directory = opendir("/proc/self/fdinfo");
	size_t count = 0;

	assert_non_null(directory);
	for (struct dirent *e; (e = readdir(directory)) && count < max;) {
		char path[300], line[256];
		FILE *file;

		snprintf(path, sizeof(path), "/proc/self/fdinfo/%s", e->d_name);
		file = fopen(path, "re");
		while (file && fgets(line, sizeof(line), file))
			if (sscanf(line, "prog_id: %u", &ids[count]) == 1)
				count++;
		if (file)
			fclose(file);
	}
	closedir(directory);
	return count;
}

static bool program_exists(uint32_t id)
{
	int fd = bpf_prog_get_fd_by_id(id);

	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

static bool uprobe_event_of_ours(void)
{
	FILE *file = fopen("/sys/kernel/tracing/uprobe_events", "re");
	char line[512];
	bool found = false;

	while (file && fgets(line, sizeof(line), file))
		found |= strstr(line, "test_capture") != NULL;
	if (file)
		fclose(file);
	return found;
}

/* A function whose calls a probe is to see; in it nothing else may be at this address. */
static __attribute__((noinline)) int probed(volatile int *calls)
{
	return ++*calls;
}

/* Where the address of a function lies in our own file. */
static uint64_t file_offset(void *function)
{
	uint64_t start, limit, offset, found = 0;
	FILE *file = fopen("/proc/self/maps", "re");
	char line[512];

	assert_non_null(file);
	while (fgets(line, sizeof(line), file))
		if (sscanf(line, "%lx-%lx %*s %lx", &start, &limit, &offset) == 3 &&
		    (uint64_t)(uintptr_t)function >= start && (uint64_t)(uintptr_t)function < limit)
			found = (uint64_t)(uintptr_t)function - start + offset;
	fclose(file);
	assert_true(found);
	return found;
}

static void test_nothing_stays(void **state)
{
	struct capture_config config = usual_config();
	struct fixture *f = calloc(1, sizeof(*f));
	size_t files = open_files(), count;
	int (*volatile call)(volatile int *) = probed;
	uint32_t ids[64];
	volatile int calls = 0;
	char why[256] = "";
	int probe;

	begin_capture(f, &config);
	assert_int_equal(capture_attach(f->capture, CAPTURE_PROBE_NEWPROC, -1, "/proc/self/exe",
					file_offset((void *)probed), &probe, why, sizeof(why)),
			 0);
	call(&calls);
	count = program_ids(ids, 64);
	assert_true(count >= 8);
	for (size_t i = 0; i < count; i++)
		assert_true(program_exists(ids[i]));
	assert_false(uprobe_event_of_ours());
	capture_close(f->capture); /* running, and with a probe */
	assert_int_equal(open_files(), files);
	/* The kernel frees them a moment later. */
	for (size_t i = 0; i < count; i++) {
		for (int tries = 0; tries < 500 && program_exists(ids[i]); tries++)
			nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
		assert_false(program_exists(ids[i]));
	}
	assert_int_equal(call(&calls), 2);
	capture_close(NULL);
	free(f);
}

/* Probes have numbers that are used again; a second detach does no harm. */
static void test_probes(void **state)
{
	struct capture_config config = usual_config();
	struct fixture *f = calloc(1, sizeof(*f));
	uint64_t offset = file_offset((void *)probed);
	char why[256] = "";
	int probes[20];

	begin_capture(f, &config);
	for (int i = 0; i < 20; i++) {
		assert_int_equal(capture_attach(f->capture, CAPTURE_PROBE_RUNTIME_TRACE, getpid(),
						"/proc/self/exe", offset, &probes[i], why,
						sizeof(why)),
				 0);
		assert_int_equal(probes[i], i);
	}
	capture_detach(f->capture, 7);
	capture_detach(f->capture, 7);
	capture_detach(f->capture, -1);
	capture_detach(f->capture, 1000000);
	assert_int_equal(capture_attach(f->capture, CAPTURE_PROBE_WITH_VALUE, getpid(),
					"/proc/self/exe", offset, &probes[0], why, sizeof(why)),
			 0);
	assert_int_equal(probes[0], 7);

	probes[0] = -1;
	assert_int_equal(capture_attach(f->capture, CAPTURE_PROBE_NEWPROC, getpid(), "/nonexistent",
					0x1000, &probes[0], why, sizeof(why)),
			 -ENOENT);
	assert_int_equal(probes[0], -1);
	assert_string_equal(why, "cannot attach a probe: No such file or directory");
	/* A kind that there is not. */
	assert_int_equal(capture_attach(f->capture, 99, getpid(), "/proc/self/exe", offset,
					&probes[0], why, sizeof(why)),
			 -EINVAL);
	capture_close(f->capture);
	free(f);
}

static void test_refused(void **state)
{
	struct capture_config config = usual_config();
	struct fixture *f = calloc(1, sizeof(*f));
	size_t files = open_files();
	char why[256] = "";

	config.goroutines_max = 0;
	assert_true(open_capture(f, &config, why, sizeof(why)) < 0);
	assert_null(f->capture);
	assert_non_null(strstr(why, "cannot load the BPF programs"));
	assert_null(strchr(why, '\n'));
	assert_int_equal(open_files(), files);
	free(f);
}

/* In a child without these capabilities. */
static void explain_without(const unsigned *lacking, size_t count, char *why, size_t why_size)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[2];
	int ends[2], status;
	pid_t pid;

	assert_int_equal(pipe(ends), 0);
	pid = fork();
	if (!pid) {
		struct capture_config config = usual_config();
		static struct fixture f;

		syscall(SYS_capget, &header, data);
		for (size_t i = 0; i < count; i++)
			data[lacking[i] / 32].effective &= ~(1u << lacking[i] % 32);
		if (syscall(SYS_capset, &header, data))
			_exit(1);
		if (open_capture(&f, &config, why, why_size) != -EPERM || f.capture)
			_exit(2);
		_exit(write(ends[1], why, strlen(why) + 1) < 0);
	}
	waitpid(pid, &status, 0);
	assert_int_equal(status, 0);
	assert_true(read(ends[0], why, why_size) > 0);
	close(ends[0]);
	close(ends[1]);
}

static void test_missing_capabilities(void **state)
{
	const unsigned all[] = {CAP_SYS_ADMIN, CAP_SYS_PTRACE, CAP_DAC_READ_SEARCH};
	const char *remedy = ": run as root (sudo), or grant the container these capabilities";
	char why[512], expected[512];

	assert_int_equal(geteuid(), 0);
	explain_without(all + 1, 1, why, sizeof(why));
	snprintf(expected, sizeof(expected),
		 "missing CAP_SYS_PTRACE (to read the memory of the profiled process)%s", remedy);
	assert_string_equal(why, expected);
	explain_without(all, 3, why, sizeof(why));
	snprintf(expected, sizeof(expected),
		 "missing CAP_SYS_ADMIN (to load BPF programs and attach probes), "
		 "CAP_SYS_PTRACE (to read the memory of the profiled process), "
		 "CAP_DAC_READ_SEARCH (to read executables of other users)%s",
		 remedy);
	assert_string_equal(why, expected);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_full_ring),
		cmocka_unit_test(test_slow_reader),
		cmocka_unit_test(test_every_process),
		cmocka_unit_test(test_nothing_stays),
		cmocka_unit_test(test_probes),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_missing_capabilities),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
