/* SPDX-License-Identifier: Apache-2.0 */
/* What becomes of a process that is wanted, with the real loader and kernel side. Needs root. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <errno.h>
#include <poll.h>
#include <sys/mman.h>
#include <unistd.h>

#include "agent/binary_store.h"
#include "agent/loader.h"
#include "agent/options.h"
#include "agent/targets.h"
#include "base/log.h"
#include "capture_fixture.h"
#include "child.h"
#include "gobinary/block_cache.h"
#include "gobinary/gobinary.h"
#include "open_files.h"
#include "process/process.h"
#include "symbolize/symbolize.h"
#include "waiting_program.h"

struct parts {
	struct fixture capture;
	struct options options;
	struct log log;
	struct binary_store *store;
	struct block_cache *cache;
	struct loader *loader;
	struct symbolizer *symbolizer;
	struct targets *targets;
	char path[64];
	size_t files;
};

static void open_parts(struct parts *p, bool local)
{
	struct capture_config config = usual_config();
	struct symbolizer_config symbolizer = {.locations_max = 1000};
	struct targets_config targets = {.options = &p->options, .log = &p->log};
	char why[256];

	waiting_program_make(p->path, 0);
	p->files = open_files();
	p->log.fd = memfd_create("log", MFD_CLOEXEC);
	p->options.probes = true;
	p->options.pid_count = local;
	assert_int_equal(open_capture(&p->capture, &config, why, sizeof(why)), 0);
	assert_int_equal(binary_store_open(8, &p->store), 0);
	assert_int_equal(block_cache_open(1 << 20, &p->cache), 0);
	assert_int_equal(loader_open(p->store, &p->loader), 0);
	symbolizer.cache = p->cache;
	assert_int_equal(symbolizer_open(&symbolizer, &p->symbolizer), 0);
	targets.capture = p->capture.capture;
	targets.loader = p->loader;
	targets.store = p->store;
	targets.symbolizer = p->symbolizer;
	targets.cache = p->cache;
	assert_int_equal(targets_open(&targets, &p->targets), 0);
}

static int set_up_local(void **state)
{
	*state = calloc(1, sizeof(struct parts));
	open_parts(*state, true);
	return 0;
}

static int set_up_host(void **state)
{
	*state = calloc(1, sizeof(struct parts));
	open_parts(*state, false);
	return 0;
}

static int tear_down(void **state)
{
	struct parts *p = *state;

	targets_close(p->targets);
	capture_close(p->capture.capture);
	assert_true(loader_close(p->loader));
	binary_store_close(p->store);
	symbolizer_close(p->symbolizer);
	block_cache_close(p->cache);
	close(p->log.fd);
	assert_int_equal(open_files(), p->files);
	unlink(p->path);
	free(p);
	return 0;
}

/* The loader's next answer. */
static struct loaded loaded(struct parts *p)
{
	struct pollfd ready = {.fd = loader_get_fd(p->loader), .events = POLLIN};
	struct loaded l;

	while (!loader_take(p->loader, &l))
		assert_int_equal(poll(&ready, 1, PATIENCE_S * 1000), 1);
	return l;
}

static struct target *adopt(struct parts *p)
{
	struct loaded l = loaded(p);

	return targets_adopt(p->targets, &l);
}

static void assert_logged(struct parts *p, const char *expected)
{
	char text[2048];
	ssize_t size = pread(p->log.fd, text, sizeof(text) - 1, 0);

	text[size > 0 ? size : 0] = '\0';
	assert_int_equal(ftruncate(p->log.fd, 0), 0);
	lseek(p->log.fd, 0, SEEK_SET);
	if (*expected)
		assert_non_null(strstr(text, expected));
	else
		assert_string_equal(text, "");
}

static void test_adopted(void **state)
{
	struct parts *p = *state;
	pid_t pid = waiting_program_run(p->path);
	struct process_record exit = {.pid = (__u32)pid};
	char expected[128];
	struct target *t;

	assert_int_equal(targets_add(p->targets, pid, true), 0);
	assert_int_equal(targets_add(p->targets, pid, true), 0); /* wanted once */
	assert_int_equal(targets_count(p->targets), 1);
	assert_int_equal(targets_find(p->targets, pid, 0)->generation, 0);
	t = adopt(p);
	assert_non_null(t);
	assert_int_equal(t->generation, 1);
	assert_int_equal(t->bias, 0);
	assert_ptr_equal(targets_find(p->targets, pid, 1), t);
	assert_null(targets_find(p->targets, pid, 2));
	/* Probes of this process alone. */
	assert_true(t->start_probe >= 0);
	assert_true(t->newproc_probe >= 0);
	assert_int_equal(t->binary->start_probe, -1);
	snprintf(expected, sizeof(expected), "attached to %s (pid %d, ", p->path, pid);
	assert_logged(p, expected);
	targets_on_first_span(p->targets,
			      &(struct process_record){.pid = (__u32)pid, .generation = 9});
	assert_false(t->spans_seen); /* of an image before */
	targets_on_first_span(p->targets,
			      &(struct process_record){.pid = (__u32)pid, .generation = 1});
	assert_true(t->spans_seen);
	assert_logged(p, "");

	assert_int_equal(targets_adopted(p->targets), 1);
	targets_on_exit(p->targets, &exit);
	assert_int_equal(targets_count(p->targets), 0);
	targets_on_exit(p->targets, &exit);
	child_end(pid);
}

/* Its exec, then its exit, found no room in the ring buffer. */
static void test_unseen(void **state)
{
	struct parts *p = *state;
	pid_t pid = waiting_program_run(p->path);
	struct target *t;

	assert_int_equal(targets_add(p->targets, pid, true), 0);
	assert_non_null(adopt(p));
	targets_verify(p->targets);
	t = targets_find(p->targets, pid, 1);
	assert_non_null(t);
	capture_forget_process(p->capture.capture, pid, 1);
	targets_verify(p->targets);
	assert_int_equal(t->generation, 0);
	assert_ptr_equal(adopt(p), t);
	assert_int_equal(t->generation, 2);
	child_end(pid);
	targets_verify(p->targets);
	assert_int_equal(targets_count(p->targets), 0);
}

static void test_unread_at_the_end(void **state)
{
	struct parts *p = *state;
	pid_t named = waiting_program_run(p->path), found = waiting_program_run(p->path);
	char expected[128];

	assert_int_equal(targets_add(p->targets, named, true), 0);
	assert_int_equal(targets_add(p->targets, found, false), 0);
	targets_end(p->targets);
	snprintf(expected, sizeof(expected),
		 "error: pid %d: its executable was not read before the end\n", named);
	assert_logged(p, expected);
	assert_int_equal(targets_refused(p->targets), 1);
	child_end(named);
	child_end(found);
}

/* Each named process that cannot be profiled is told, and counted. */
static void test_refused(void **state)
{
	struct parts *p = *state;
	char *const nothing[] = {NULL}, *const opted_out[] = {"SPANPROF=off", NULL};
	pid_t plain = child_start(nothing), off = child_start(opted_out);
	char expected[128];

	assert_int_equal(targets_add(p->targets, 4194304, true), 0);
	assert_null(adopt(p));
	assert_logged(p, "error: pid 4194304: no such process");
	assert_int_equal(targets_add(p->targets, plain, true), 0);
	assert_null(adopt(p));
	snprintf(expected, sizeof(expected), "error: pid %d: it is not a Go program", plain);
	assert_logged(p, expected);
	assert_int_equal(targets_add(p->targets, off, true), 0);
	assert_null(adopt(p));
	snprintf(expected, sizeof(expected), "error: pid %d: its environment says SPANPROF=off",
		 off);
	assert_logged(p, expected);
	assert_int_equal(targets_refused(p->targets), 3);
	assert_int_equal(targets_count(p->targets), 0);
	assert_int_equal(targets_adopted(p->targets), 0);
	/* Nobody asked for this one. */
	assert_int_equal(targets_add(p->targets, plain, false), 0);
	assert_null(adopt(p));
	assert_logged(p, "");
	assert_int_equal(targets_refused(p->targets), 3);
	child_end(plain);
	child_end(off);
}

/* Two execs in a row: what was read before the last one is of an image that is gone. */
static void test_exec_while_loading(void **state)
{
	struct parts *p = *state;
	pid_t pid = waiting_program_run(p->path);
	struct process_record exec = {.pid = (__u32)pid};
	struct target *t;

	assert_int_equal(targets_add(p->targets, pid, true), 0);
	targets_on_exec(p->targets, &exec);
	assert_null(adopt(p));
	assert_int_equal(targets_find(p->targets, pid, 0)->generation, 0);
	assert_logged(p, "");
	t = adopt(p);
	assert_non_null(t);
	assert_int_equal(t->generation, 1);
	/* And one more, of a process that is profiled. */
	targets_on_exec(p->targets, &exec);
	assert_int_equal(t->generation, 0);
	assert_int_equal(t->start_probe, -1);
	assert_null(t->binary);
	t = adopt(p);
	assert_int_equal(t->generation, 2);
	assert_true(t->start_probe >= 0);
	child_end(pid);
}

/* The process no longer runs what was read: no probe comes into the other program. */
static void test_other_executable(void **state)
{
	struct parts *p = *state;
	pid_t pid = waiting_program_run(p->path);
	struct binary *other;
	struct loaded l;
	struct target *t;

	assert_int_equal(targets_add(p->targets, pid, true), 0);
	l = loaded(p);
	other = l.binary;
	other->inode++; /* as if this had been another file */
	assert_null(targets_adopt(p->targets, &l));
	assert_int_equal(other->start_probe, -1);
	assert_int_equal(other->references, 0);
	assert_int_equal(other->profiled, 0);
	assert_int_equal(targets_find(p->targets, pid, 0)->start_probe, -1);
	assert_logged(p, "");
	/* It is read once more, and now it fits. */
	t = adopt(p);
	assert_non_null(t);
	assert_ptr_not_equal(t->binary, other);
	assert_true(t->start_probe >= 0);
	assert_int_equal(targets_refused(p->targets), 0);
	child_end(pid);
}

/* Host-wide: one probe for all processes of a file, as long as one of them is profiled. */
static void test_shared_probes(void **state)
{
	struct parts *p = *state;
	pid_t one = waiting_program_run(p->path), two = waiting_program_run(p->path);
	struct process_record end_one = {.pid = (__u32)one}, end_two = {.pid = (__u32)two};
	struct go_function function;
	struct target *t;
	struct binary *b;
	int probe;

	assert_int_equal(targets_add(p->targets, one, false), 0);
	assert_int_equal(targets_add(p->targets, two, false), 0);
	t = adopt(p);
	b = t->binary;
	assert_int_equal(t->start_probe, -1);
	probe = b->start_probe;
	assert_true(probe >= 0);
	assert_non_null(adopt(p));
	assert_int_equal(b->start_probe, probe);
	assert_int_equal(b->profiled, 2);
	assert_int_equal(b->references, 2);
	assert_int_equal(b->newproc_probe, -1); /* comes with the first span */
	targets_on_first_span(p->targets,
			      &(struct process_record){.pid = end_two.pid, .generation = 2});
	assert_true(b->newproc_probe >= 0);

	targets_on_exit(p->targets, &end_one);
	assert_int_equal(b->profiled, 1);
	assert_int_equal(b->start_probe, probe);
	targets_on_exit(p->targets, &end_two);
	assert_int_equal(b->profiled, 0);
	assert_int_equal(b->start_probe, -1);
	assert_int_equal(b->newproc_probe, -1);
	assert_int_equal(b->references, 0);
	/* No look-ups by it either: the loader's thread may free it now. */
	assert_int_not_equal(pclntab_find_function(gobinary_get_pclntab(b->go),
						   gobinary_get_info(b->go)->goexit.start,
						   &function),
			     0);
	/* And with the next process all is there again. */
	assert_int_equal(targets_add(p->targets, one, false), 0);
	t = adopt(p);
	assert_ptr_equal(t->binary, b);
	assert_true(b->start_probe >= 0);
	assert_int_equal(pclntab_find_function(gobinary_get_pclntab(b->go),
					       gobinary_get_info(b->go)->goexit.start, &function),
			 0);
	child_end(one);
	child_end(two);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_adopted, set_up_local, tear_down),
		cmocka_unit_test_setup_teardown(test_refused, set_up_local, tear_down),
		cmocka_unit_test_setup_teardown(test_unseen, set_up_local, tear_down),
		cmocka_unit_test_setup_teardown(test_unread_at_the_end, set_up_local, tear_down),
		cmocka_unit_test_setup_teardown(test_exec_while_loading, set_up_local, tear_down),
		cmocka_unit_test_setup_teardown(test_other_executable, set_up_local, tear_down),
		cmocka_unit_test_setup_teardown(test_shared_probes, set_up_host, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
