/* SPDX-License-Identifier: Apache-2.0 */
/* Executables by file: shared, told apart, evicted only when unused, free of any thread's cache. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "agent/binary_store.h"
#include "gobinary/block_cache.h"
#include "gobinary/gobinary.h"
#include "go_program.h"
#include "open_files.h"

#define SDK "go.opentelemetry.io/otel/sdk/trace"

struct fixture {
	struct block_cache *cache, *other_cache;
	struct go_program program;
	size_t files;
};

static int set_up(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	assert_int_equal(block_cache_open(1 << 20, &f->cache), 0);
	assert_int_equal(block_cache_open(1 << 20, &f->other_cache), 0);
	go_program_fill(&f->program, false, SDK, false);
	f->files = open_files();
	*state = f;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(open_files(), f->files);
	block_cache_close(f->cache);
	block_cache_close(f->other_cache);
	free(f);
	return 0;
}

/* The same program in a file of its own. */
static int program_file(struct fixture *f)
{
	return go_image_file(&f->program.image);
}

#define PATH "/tmp/test_binary_store_XXXXXX"

/* And one with a name, which is to be removed. */
static int named_file(struct fixture *f, char path[sizeof(PATH)])
{
	int fd;

	strcpy(path, PATH);
	fd = mkstemp(path);
	assert_int_equal(write(fd, f->program.image.data, sizeof(f->program.image.data)),
			 sizeof(f->program.image.data));
	return fd;
}

static struct binary *get(struct binary_store *s, int fd, struct block_cache *cache)
{
	struct binary *b = NULL;

	assert_int_equal(binary_store_get(s, fd, cache, &b), 0);
	assert_non_null(b);
	return b;
}

static void test_shared(void **state)
{
	struct fixture *f = *state;
	int one = program_file(f), two = program_file(f), none = open("/bin/true", O_RDONLY);
	struct binary *b, *c, *plain;
	struct binary_store *s;

	assert_int_equal(binary_store_open(8, &s), 0);
	b = get(s, one, f->cache);
	assert_int_equal(b->references, 1);
	assert_int_equal(b->start_probe, -1);
	assert_int_equal(b->newproc_probe, -1);
	assert_int_equal(b->first_segment_address, GO_IMAGE_BASE);
	assert_non_null(b->go);
	assert_true(gobinary_get_info(b->go)->has_sdk);
	assert_ptr_equal(get(s, one, f->cache), b);
	assert_int_equal(b->references, 2);
	c = get(s, two, f->cache);
	assert_ptr_not_equal(c, b);
	assert_int_equal(b->references, 2);

	/* Not Go: an answer like any other, and kept too. */
	plain = get(s, none, f->cache);
	assert_null(plain->go);
	assert_ptr_equal(get(s, none, f->cache), plain);
	assert_int_equal(plain->references, 2);

	binary_store_put(s, b);
	assert_int_equal(b->references, 1);
	binary_store_put(s, NULL);
	binary_store_close(s);
	binary_store_close(NULL);
	close(one);
	close(two);
	close(none);
}

/* The cache of who read it serves nobody else: look-ups begin when a cache is given. */
static void test_cache(void **state)
{
	struct fixture *f = *state;
	int fd = program_file(f);
	struct binary_store *s;
	struct go_function function;
	struct pclntab *table;
	struct binary *b;

	assert_int_equal(binary_store_open(8, &s), 0);
	b = get(s, fd, f->cache);
	assert_int_equal(block_cache_bytes(f->cache), 0);
	table = gobinary_get_pclntab(b->go);
	assert_int_not_equal(pclntab_find_function(table, f->program.goexit, &function), 0);
	gobinary_set_cache(b->go, f->other_cache);
	assert_int_equal(pclntab_find_function(table, f->program.goexit, &function), 0);
	assert_int_equal(function.entry, f->program.goexit);
	assert_true(block_cache_bytes(f->other_cache) > 0);
	gobinary_set_cache(b->go, NULL);
	assert_int_equal(block_cache_bytes(f->other_cache), 0);
	binary_store_put(s, b);
	binary_store_close(s);
	close(fd);
}

static void test_unreadable(void **state)
{
	struct fixture *f = *state;
	int text = memfd_create("text", MFD_CLOEXEC), cut = memfd_create("cut", MFD_CLOEXEC);
	struct binary_store *s;
	struct binary *b = (void *)f;

	assert_int_equal(binary_store_open(8, &s), 0);
	assert_int_equal(write(text, "#!/bin/sh\n", 10), 10);
	assert_int_equal(binary_store_get(s, text, f->cache, &b), -ENOEXEC);
	assert_null(b);
	/* Program headers that lie beyond the end. */
	assert_int_equal(write(cut, f->program.image.data, 70), 70);
	assert_int_equal(binary_store_get(s, cut, f->cache, &b), -EINVAL);
	assert_null(b);
	assert_int_equal(binary_store_get(s, -1, f->cache, &b), -EBADF);
	assert_null(b);
	assert_int_equal(block_cache_bytes(f->cache), 0);
	binary_store_close(s);
	close(text);
	close(cut);
}

/* Full of executables in use: refused. Else the one that was used longest ago makes place. */
static void test_cap(void **state)
{
	struct fixture *f = *state;
	struct binary *a, *b, *c, *refused;
	struct binary_store *s;
	char paths[3][sizeof(PATH)];
	int fds[3];

	for (int i = 0; i < 3; i++)
		fds[i] = named_file(f, paths[i]);
	assert_int_equal(binary_store_open(2, &s), 0);
	a = get(s, fds[0], f->cache);
	b = get(s, fds[1], f->cache);
	assert_int_equal(binary_store_get(s, fds[2], f->cache, &refused), -ENOSPC);
	assert_null(refused);
	a->profiled = 41; /* marks that tell whether it was read anew */
	b->profiled = 42;
	binary_store_put(s, b);
	binary_store_put(s, a);
	/* Of the two, b is now the one used longest ago: a is asked for once more. */
	assert_ptr_equal(get(s, fds[0], f->cache), a);
	binary_store_put(s, a);
	c = get(s, fds[2], f->cache);
	c->profiled = 43;
	assert_int_equal(get(s, fds[0], f->cache)->profiled, 41);
	/* a and c are in use: nobody goes for b. */
	assert_int_equal(binary_store_get(s, fds[1], f->cache, &refused), -ENOSPC);
	binary_store_put(s, c);
	assert_int_equal(get(s, fds[1], f->cache)->profiled, 0); /* read anew, for c */
	binary_store_close(s);
	for (int i = 0; i < 3; i++) {
		close(fds[i]);
		unlink(paths[i]);
	}
}

/* An executable that nobody runs and nobody can run again is not kept: the disk wants it back. */
static void test_deleted(void **state)
{
	struct fixture *f = *state;
	char first[sizeof(PATH)], second[sizeof(PATH)];
	int fds[] = {named_file(f, first), named_file(f, second)};
	struct binary *deleted, *kept;
	struct binary_store *s;
	size_t files;

	assert_int_equal(binary_store_open(8, &s), 0);
	files = open_files();
	deleted = get(s, fds[0], f->cache);
	kept = get(s, fds[1], f->cache);
	assert_ptr_equal(get(s, fds[0], f->cache), deleted);
	assert_int_equal(open_files(), files + 2);
	unlink(first);
	binary_store_put(s, deleted);
	assert_int_equal(open_files(), files + 2); /* somebody runs it */
	binary_store_put(s, deleted);
	assert_int_equal(open_files(), files + 1);
	binary_store_put(s, kept);
	assert_int_equal(open_files(), files + 1);
	assert_ptr_equal(get(s, fds[1], f->cache), kept);
	binary_store_close(s);
	close(fds[0]);
	close(fds[1]);
	unlink(second);
}

/* Overwritten in place: another executable. A new mode or link: the same file, looked at anew. */
static void test_changes(void **state)
{
	struct fixture *f = *state;
	char path[sizeof(PATH)];
	int fd = named_file(f, path);
	struct timespec times[2], tick = {.tv_nsec = 30000000};
	struct binary_store *s;
	struct binary *b, *c;
	struct stat st;

	assert_int_equal(binary_store_open(8, &s), 0);
	b = get(s, fd, f->cache);
	assert_true(binary_is_file(b, fd));
	assert_ptr_equal(get(s, fd, f->cache), b);

	nanosleep(&tick, NULL);
	assert_int_equal(fchmod(fd, 0755), 0);
	assert_true(binary_is_file(b, fd));

	/* The old time put back, as `cp -p` does, hides the change from the time of modification.
	 */
	assert_int_equal(fstat(fd, &st), 0);
	nanosleep(&tick, NULL);
	assert_int_equal(pwrite(fd, "\x7f", 1, 0), 1);
	assert_false(binary_is_file(b, fd));
	times[0] = st.st_atim;
	times[1] = st.st_mtim;
	assert_int_equal(futimens(fd, times), 0);
	c = get(s, fd, f->cache);
	assert_ptr_not_equal(c, b);
	assert_ptr_equal(get(s, fd, f->cache), c);
	assert_false(binary_is_file(b, -1));
	binary_store_close(s);
	close(fd);
	unlink(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_shared),	   cmocka_unit_test(test_cache),
		cmocka_unit_test(test_unreadable), cmocka_unit_test(test_cap),
		cmocka_unit_test(test_deleted),	   cmocka_unit_test(test_changes),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
