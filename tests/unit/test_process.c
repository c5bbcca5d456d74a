/* SPDX-License-Identifier: Apache-2.0 */
/* Processes against what the system itself tells: this one, a child, a dead one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "child.h"
#include "process/proc_stat.h"
#include "process/process.h"

extern char **environ;

static void test_own_process(void **state)
{
	char path[PATH_MAX];
	struct process *p;
	struct stat opened, own;
	ssize_t size = readlink("/proc/self/exe", path, sizeof(path) - 1);
	int fd;

	path[size] = '\0';
	assert_int_equal(process_open(getpid(), &p), 0);
	assert_int_equal(process_get_pid(p), getpid());
	assert_string_equal(process_get_executable(p), path);
	assert_true(process_is_alive(p));
	assert_int_equal(stat(path, &own), 0);
	fd = process_open_executable(p);
	assert_true(fd >= 0);
	assert_int_equal(fstat(fd, &opened), 0);
	assert_int_equal(opened.st_ino, own.st_ino);
	assert_int_equal(fcntl(fd, F_GETFL) & O_ACCMODE, O_RDONLY);
	assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
	close(fd);
	process_close(p);
}

static void test_no_such_process(void **state)
{
	struct process *p;

	assert_int_equal(process_open(0, &p), -ESRCH);
	assert_int_equal(process_open(-1, &p), -ESRCH);
	assert_int_equal(process_open(INT_MAX, &p), -ESRCH);
	process_close(NULL);
}

static void *report_tid(void *to)
{
	int *pipe_fds = to;
	pid_t tid = (pid_t)syscall(SYS_gettid);
	char byte;

	if (write(pipe_fds[1], &tid, sizeof(tid)) != sizeof(tid))
		return NULL;
	return read(pipe_fds[2], &byte, 1) < 0 ? to : NULL;
}

/* /proc/TID opens although it is not listed; a thread is not a process. */
static void test_a_thread_is_no_process(void **state)
{
	int to_us[2], to_thread[2], fds[3];
	struct process *p;
	pthread_t thread;
	pid_t tid;

	assert_int_equal(pipe(to_us), 0);
	assert_int_equal(pipe(to_thread), 0);
	fds[1] = to_us[1];
	fds[2] = to_thread[0];
	assert_int_equal(pthread_create(&thread, NULL, report_tid, fds), 0);
	assert_int_equal(read(to_us[0], &tid, sizeof(tid)), sizeof(tid));
	assert_int_equal(process_open(tid, &p), -ESRCH);
	close(to_thread[1]);
	pthread_join(thread, NULL);
	close(to_thread[0]);
	close(to_us[0]);
	close(to_us[1]);
}

static void test_mappings_against_the_loader(void **state)
{
	const struct process_mapping *m;
	struct process *p;
	Dl_info info;

	assert_true(dladdr((void *)(uintptr_t)getenv, &info) != 0);
	assert_int_equal(process_open(getpid(), &p), 0);
	assert_null(process_find_mapping(p, (uintptr_t)getenv));
	assert_int_equal(process_read_mappings(p), 0);
	m = process_find_mapping(p, (uintptr_t)dlsym(RTLD_DEFAULT, "getenv"));
	assert_non_null(m);
	assert_true(m->executable);
	assert_non_null(strstr(m->path, "libc.so"));
	m = process_find_mapping(p, (uintptr_t)&info);
	assert_string_equal(m->path, "[stack]");
	assert_true(process_mapping_count(p) > 10);
	assert_non_null(process_get_mapping(p, process_mapping_count(p) - 1));
	assert_null(process_get_mapping(p, process_mapping_count(p)));
	process_close(p);
}

static int find_main(struct dl_phdr_info *info, size_t size, void *to)
{
	uint64_t *values = to;

	values[0] = info->dlpi_addr;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		if (info->dlpi_phdr[i].p_type == PT_LOAD) {
			values[1] = info->dlpi_phdr[i].p_vaddr;
			return 1; /* the first object is the main program */
		}
	}
	return 1;
}

static void test_load_bias(void **state)
{
	uint64_t bias, values[2] = {0};
	struct process *p;

	dl_iterate_phdr(find_main, values);
	assert_int_equal(process_open(getpid(), &p), 0);
	assert_int_equal(process_get_load_bias(p, values[1], &bias), -ENOENT);
	assert_int_equal(process_read_mappings(p), 0);
	assert_int_equal(process_get_load_bias(p, values[1], &bias), 0);
	assert_int_equal(bias, values[0]);
	process_close(p);
}

static void test_files_of_mappings(void **state)
{
	const struct process_mapping *m;
	struct stat opened, real;
	struct process *p;
	Dl_info info;
	int fd;

	assert_int_equal(process_open(getpid(), &p), 0);
	assert_int_equal(process_read_mappings(p), 0);
	m = process_find_mapping(p, (uintptr_t)dlsym(RTLD_DEFAULT, "getenv"));
	assert_true(dladdr(dlsym(RTLD_DEFAULT, "getenv"), &info) != 0);
	fd = process_open_mapping(p, m);
	assert_true(fd >= 0);
	assert_int_equal(fstat(fd, &opened), 0);
	assert_int_equal(stat(info.dli_fname, &real), 0);
	assert_int_equal(opened.st_ino, real.st_ino);
	close(fd);
	m = process_find_mapping(p, (uintptr_t)&info);
	assert_int_equal(process_open_mapping(p, m), -ENOENT);
	process_close(p);
}

static void test_memory(void **state)
{
	static const char text[] = "two pages of text";
	long page = sysconf(_SC_PAGESIZE);
	char *area, copy[sizeof(text)];
	struct process *p;

	area = mmap(NULL, (size_t)page * 2, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		    0);
	assert_ptr_not_equal(area, MAP_FAILED);
	assert_int_equal(munmap(area + page, (size_t)page), 0);
	memcpy(area + page - sizeof(text), text, sizeof(text));
	assert_int_equal(process_open(getpid(), &p), 0);
	assert_int_equal(process_read_memory(p, (uintptr_t)area + (uintptr_t)page - sizeof(text),
					     copy, sizeof(copy)),
			 0);
	assert_string_equal(copy, text);
	/* One byte over the end of what is mapped. */
	assert_int_equal(process_read_memory(p,
					     (uintptr_t)area + (uintptr_t)page - sizeof(text) + 1,
					     copy, sizeof(copy)),
			 -EFAULT);
	assert_int_equal(process_read_memory(p, 0, copy, 1), -EFAULT);
	assert_int_equal(process_read_memory(p, UINT64_MAX - 2, copy, 8), -EFAULT);
	munmap(area, (size_t)page);
	process_close(p);
}

static void test_end_of_a_child(void **state)
{
	pid_t pid = child_start(environ);
	struct process *p;
	char byte;

	assert_true(pid > 0);
	assert_int_equal(process_open(pid, &p), 0);
	assert_true(process_is_alive(p));
	kill(pid, SIGKILL);
	siginfo_t info;
	assert_int_equal(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
	assert_false(process_is_alive(p)); /* a zombie still */
	waitpid(pid, NULL, 0);
	assert_false(process_is_alive(p));
	assert_int_equal(process_read_mappings(p), -ESRCH);
	assert_int_equal(process_open_executable(p), -ESRCH);
	assert_int_equal(process_read_memory(p, 0x400000, &byte, 1), -ESRCH);
	process_close(p);
}

static void test_stat_lines(void **state)
{
	static const char odd[] = "42 (a) S (b) Z 1 42 42 0 -1 2097216 0 0 0 0 0 0 0 0 20 0 3 0 "
				  "98765 0 0";
	struct proc_stat stat;

	assert_int_equal(proc_stat_parse(odd, sizeof(odd) - 1, &stat), 0);
	assert_string_equal(stat.comm, "a) S (b");
	assert_int_equal(stat.state, 'Z');
	assert_int_equal(stat.threads, 3);
	assert_int_equal(stat.start_ticks, 98765);
	assert_true(proc_stat_is_kernel_thread(&stat));
	assert_false(proc_stat_is_dead(&stat)); /* threads are left */
	assert_int_equal(proc_stat_parse("42 (a) S 1 2", 12, &stat), -EINVAL);
	assert_int_equal(proc_stat_parse("42", 2, &stat), -EINVAL);
	assert_int_equal(proc_stat_parse("", 0, &stat), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_own_process),
		cmocka_unit_test(test_no_such_process),
		cmocka_unit_test(test_a_thread_is_no_process),
		cmocka_unit_test(test_mappings_against_the_loader),
		cmocka_unit_test(test_load_bias),
		cmocka_unit_test(test_files_of_mappings),
		cmocka_unit_test(test_memory),
		cmocka_unit_test(test_end_of_a_child),
		cmocka_unit_test(test_stat_lines),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
