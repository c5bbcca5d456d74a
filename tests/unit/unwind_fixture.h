/* SPDX-License-Identifier: Apache-2.0 */
/* A Go program built for tests of the unwinder, its functions, and a stack to lay out with them. */
#ifndef UNIT_UNWIND_FIXTURE_H
#define UNIT_UNWIND_FIXTURE_H

#include <fcntl.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "gobinary/block_cache.h"
#include "gobinary/gobinary.h"
#include "stack_scene.h"
#include "unwind/unwind.h"

#define STACK 0xc000100000ull /* where a goroutine's stack may lie */
#define G0    0x7f0000200000ull
#define C_PC  0x7f1234567890ull

extern char **environ;

struct fixture {
	struct block_cache *cache;
	struct gobinary *binary;
	const struct gobinary_info *info;
	struct scene scene;
	uint64_t leaf, middle, outer, main, runtime_main, goexit;
	struct scene_record record;
	struct scene_stack stack, thread;
	struct unwound_stack out;
	struct unwind_stats stats;
};

static inline void build_program(const char *path)
{
	char *arguments[] = {"go", "build", "-o", (char *)path, "tests/unit/unwind_program/main.go",
			     NULL};
	int status;
	pid_t pid;

	assert_int_equal(posix_spawnp(&pid, "go", NULL, NULL, arguments, environ), 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

static inline void set_bias(struct fixture *f, uint64_t bias)
{
	f->scene.bias = bias;
	f->leaf = scene_function(&f->scene, "main.leaf").entry + bias;
	f->middle = scene_body(&f->scene, "main.middle");
	f->outer = scene_body(&f->scene, "main.outer");
	f->main = scene_body(&f->scene, "main.main");
	f->runtime_main = scene_body(&f->scene, "runtime.main");
	f->goexit = f->info->goexit.start + 1 + bias;
}

static inline int set_up(void **state)
{
	char directory[] = "/tmp/test_unwind_XXXXXX", path[64];
	struct fixture *f = calloc(1, sizeof(*f));
	int fd;

	assert_non_null(mkdtemp(directory));
	snprintf(path, sizeof(path), "%s/program", directory);
	build_program(path);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_int_equal(block_cache_open(4 << 20, &f->cache), 0);
	assert_int_equal(gobinary_open(fd, f->cache, &f->binary), 0);
	close(fd);
	unlink(path);
	rmdir(directory);
	f->info = gobinary_get_info(f->binary);
	f->scene.table = gobinary_get_pclntab(f->binary);
	set_bias(f, 0);
	*state = f;
	return 0;
}

static inline int tear_down(void **state)
{
	struct fixture *f = *state;

	gobinary_close(f->binary);
	block_cache_close(f->cache);
	free(f);
	return 0;
}

static inline void unwind(struct fixture *f)
{
	memset(&f->out, 0xa5, sizeof(f->out));
	memset(&f->stats, 0, sizeof(f->stats));
	unwind_sample(&f->record.sample, f->binary, f->scene.bias, &f->out, &f->stats);
}

/* The frames from the leaf on; 0 ends the list. The lowest bit of `exact` is the leaf's. */
static inline void assert_frames(const struct unwound_stack *out, uint32_t exact, ...)
{
	uint32_t count = 0;
	uint64_t expected;
	va_list list;

	va_start(list, exact);
	for (; (expected = va_arg(list, uint64_t)); count++) {
		assert_true(count < out->count);
		assert_int_equal(out->pcs[count], expected);
		assert_int_equal(out->exact[count], exact >> count & 1);
	}
	va_end(list);
	assert_int_equal(out->count, count);
}

#define PUSH(f, pc, keeps) scene_push(&(f)->scene, &(f)->stack, pc, keeps)

/* The root of every goroutine here. */
static inline void push_root(struct fixture *f, struct scene_stack *st)
{
	scene_push(&f->scene, st, f->outer, true);
	scene_push(&f->scene, st, f->main, true);
	scene_push(&f->scene, st, f->runtime_main, true);
	scene_end(st, f->goexit);
}

#endif
