/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The loader's thread: answers in order, none lost, stopped at any moment. Meant for the thread
 * sanitizer too: the last test uses executables as the loop does, while others are being read.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/binary_store.h"
#include "agent/loader.h"
#include "base/clock.h"
#include "child.h"
#include "gobinary/block_cache.h"
#include "gobinary/gobinary.h"
#include "open_files.h"
#include "process/process.h"
#include "waiting_program.h"

#define PATIENCE_MS 20000
#define GONE	    4194304 /* a pid that the kernel never gives away */

struct fixture {
	struct binary_store *store;
	struct loader *loader;
	size_t files;
};

static int set_up(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	f->files = open_files();
	assert_int_equal(binary_store_open(4, &f->store), 0);
	assert_int_equal(loader_open(f->store, &f->loader), 0);
	*state = f;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	assert_true(loader_close(f->loader));
	binary_store_close(f->store);
	assert_int_equal(open_files(), f->files);
	free(f);
	return 0;
}

static void discard(struct fixture *f, struct loaded *loaded)
{
	process_close(loaded->process);
	binary_store_put(f->store, loaded->binary);
}

/* Waits as the loop does: by the descriptor. */
static void take(struct fixture *f, struct loaded *out)
{
	struct pollfd ready = {.fd = loader_get_fd(f->loader), .events = POLLIN};

	while (!loader_take(f->loader, out))
		assert_int_equal(poll(&ready, 1, PATIENCE_MS), 1);
}

static pid_t start_child(void)
{
	char *const environment[] = {"OTEL_SERVICE_NAME=slept", NULL};
	pid_t pid = child_start(environment);

	assert_true(pid > 0);
	return pid;
}

static void test_answers(void **state)
{
	struct fixture *f = *state;
	struct loaded loaded;
	pid_t pid = start_child();
	struct stat st;

	assert_false(loader_take(f->loader, &loaded));
	assert_int_equal(stat("/bin/sleep", &st), 0);
	assert_int_equal(loader_request(f->loader, pid, 71), 0);
	take(f, &loaded);
	assert_int_equal(loaded.pid, pid);
	assert_int_equal(loaded.number, 71);
	assert_int_equal(loaded.error, 0);
	assert_int_equal(process_get_pid(loaded.process), pid);
	assert_true(process_mapping_count(loaded.process) > 3);
	assert_int_equal(loaded.binary->inode, st.st_ino);
	assert_null(loaded.binary->go);
	assert_int_equal(loaded.binary->references, 1);
	assert_string_equal(identity_get(&loaded.identity, "service.name"), "slept");
	assert_false(loader_take(f->loader, &loaded));
	discard(f, &loaded);
	child_end(pid);
}

static void test_errors(void **state)
{
	char *const opted_out[] = {"SPANPROF=off", NULL};
	pid_t pid = child_start(opted_out);
	struct fixture *f = *state;
	struct loaded loaded;

	assert_int_equal(loader_request(f->loader, GONE, 1), 0);
	take(f, &loaded);
	assert_int_equal(loaded.pid, GONE);
	assert_int_equal(loaded.error, -ESRCH);
	assert_null(loaded.process);
	assert_null(loaded.binary);

	assert_int_equal(loader_request(f->loader, pid, 3), 0);
	take(f, &loaded);
	assert_int_equal(loaded.error, -ECANCELED);
	assert_int_equal(loaded.number, 3);
	discard(f, &loaded);
	child_end(pid);
}

/* More than the queue of answers holds, and none taken meanwhile: all come, in order. */
static void test_order(void **state)
{
	struct fixture *f = *state;
	struct loaded loaded;

	for (uint64_t i = 0; i < 500; i++)
		assert_int_equal(loader_request(f->loader, GONE, i), 0);
	for (uint64_t i = 0; i < 500; i++) {
		take(f, &loaded);
		assert_int_equal(loaded.number, i);
	}
	assert_false(loader_take(f->loader, &loaded));
}

/* The queue of requests is bounded; what was taken makes room. */
static void test_cap(void **state)
{
	struct fixture *f = *state;
	uint64_t accepted = 0;
	struct loaded loaded;

	while (!loader_request(f->loader, GONE, accepted))
		accepted++;
	/* 4096 wait, 64 answers wait, one is at work, and some may have gone through meanwhile. */
	assert_in_range(accepted, 4096, 4096 + 64 + 1);
	while (accepted < 4096 + 64 + 1)
		accepted += !loader_request(f->loader, GONE, accepted);
	assert_int_equal(loader_request(f->loader, GONE, 0), -ENOSPC);
	for (uint64_t i = 0; i < accepted; i++) {
		take(f, &loaded);
		assert_int_equal(loaded.number, i);
	}
	assert_int_equal(loader_request(f->loader, GONE, 9), 0);
	take(f, &loaded);
	assert_int_equal(loaded.number, 9);
}

/* Closed with requests and answers that nobody takes: at once, and nothing leaks (tear_down). */
static void test_stop_while_busy(void **state)
{
	struct fixture *f = *state;
	uint64_t start_ns;

	for (int round = 0; round < 20; round++) {
		for (uint64_t i = 0; i < 200; i++)
			assert_int_equal(loader_request(f->loader, getpid(), i), 0);
		for (int i = 0; i < round; i++)
			sched_yield();
		start_ns = clock_monotonic_ns();
		assert_true(loader_close(f->loader));
		assert_true(clock_monotonic_ns() - start_ns < 1000000000);
		f->loader = NULL;
		assert_int_equal(loader_open(f->store, &f->loader), 0);
	}
}

#define PROGRAMS 6 /* the store keeps 4 */

/* As the loop: a cache while it is profiled, look-ups, and none before it is given back. */
static void use(struct loaded *loaded, struct block_cache *cache)
{
	struct go_function function;
	struct gobinary *go = loaded->binary->go;

	if (!loaded->binary->profiled++)
		gobinary_set_cache(go, cache);
	assert_int_equal(pclntab_find_function(gobinary_get_pclntab(go),
					       gobinary_get_info(go)->goexit.start, &function),
			 0);
	assert_int_equal(function.entry, gobinary_get_info(go)->goexit.start);
}

static void leave(struct fixture *f, struct loaded *loaded)
{
	if (!--loaded->binary->profiled)
		gobinary_set_cache(loaded->binary->go, NULL);
	discard(f, loaded);
}

/* Several executables come and go, and are evicted, while others are read. */
static void test_ownership(void **state)
{
	struct fixture *f = *state;
	char paths[PROGRAMS][64];
	pid_t pids[PROGRAMS];
	struct loaded last[3];
	struct block_cache *cache;
	size_t loads = 0, used = 0;

	assert_int_equal(block_cache_open(1 << 18, &cache), 0);
	for (size_t i = 0; i < PROGRAMS; i++) {
		waiting_program_make(paths[i], i);
		pids[i] = waiting_program_run(paths[i]);
	}
	for (size_t i = 0; i < 300; i++)
		assert_int_equal(loader_request(f->loader, pids[i * 7 % PROGRAMS], i), 0);
	memset(last, 0, sizeof(last));
	while (loads < 300) {
		struct loaded loaded, *slot = &last[loads % 3];

		if (slot->binary) {
			leave(f, slot);
			slot->binary = NULL;
		}
		take(f, &loaded);
		loads++;
		if (loaded.error) {
			assert_int_equal(loaded.error, -ENOSPC);
			discard(f, &loaded);
			continue;
		}
		use(&loaded, cache);
		*slot = loaded;
		used++;
	}
	for (size_t i = 0; i < 3; i++)
		if (last[i].binary)
			leave(f, &last[i]);
	/* Answers that wait hold executables too: for a moment the store may be full of them. */
	assert_true(used > 100);
	block_cache_close(cache);
	for (size_t i = 0; i < PROGRAMS; i++) {
		child_end(pids[i]);
		unlink(paths[i]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_answers, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_errors, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_order, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_cap, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_stop_while_busy, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_ownership, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
