/* SPDX-License-Identifier: Apache-2.0 */
/* Go frames against Go's own runtime: a program that prints its stacks, built by the test. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "gobinary/block_cache.h"
#include "gobinary/elf_image.h"
#include "gobinary/gobinary.h"
#include "process/process.h"
#include "symbolize/symbolize.h"

#ifndef FRAMES_BUILD_FLAG /* other builds of the truth program are tried by hand */
#define FRAMES_BUILD_FLAG "-ldflags=-s -w"
#endif

extern char **environ;

static void build_truth_program(const char *path)
{
	char *arguments[] = {"go", "build",	 FRAMES_BUILD_FLAG,
			     "-o", (char *)path, "tests/unit/frames_truth/main.go",
			     NULL};
	int status;
	pid_t pid;

	assert_int_equal(posix_spawnp(&pid, "go", NULL, NULL, arguments, environ), 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

/* Runs it with a pipe to its input, which ends it when closed, and one from its output. */
static pid_t start_truth_program(const char *path, int *input, FILE **output)
{
	int in[2], out[2];
	pid_t pid;

	assert_int_equal(pipe2(in, O_CLOEXEC), 0);
	assert_int_equal(pipe2(out, O_CLOEXEC), 0);
	pid = fork();
	if (!pid) {
		dup2(in[0], 0);
		dup2(out[1], 1);
		execl(path, path, NULL);
		_exit(127);
	}
	close(in[0]);
	close(out[1]);
	*input = in[1];
	*output = fdopen(out[0], "r");
	return pid;
}

/* Frame.Function puts [...] for type arguments; ours, like runtime/pprof, gives them in full. */
static void assert_function(const char *ours, const char *truth)
{
	const char *dots = strstr(truth, "[...]");
	size_t head = dots ? (size_t)(dots - truth) : 0;
	const char *tail = dots ? dots + strlen("[...]") : truth;

	if (dots) {
		assert_memory_equal(ours, truth, head);
		assert_non_null(strstr(ours + head, "[go.shape."));
		ours = strrchr(ours, ']') + 1;
	}
	assert_string_equal(ours, tail);
}

struct truth {
	uint64_t address;
	char function[256], file[256];
	unsigned int line;
};

/* Reads one stack; 0 at the end of all. */
static size_t read_stack(FILE *from, struct truth *stack, size_t max)
{
	char line[1024];
	size_t count = 0;

	while (fgets(line, sizeof(line), from) && line[0] != '\n') {
		struct truth *t = &stack[count++];

		assert_true(count < max);
		assert_int_equal(sscanf(line, "%lx\t%255[^\t]\t%255[^\t]\t%u", &t->address,
					t->function, t->file, &t->line),
				 4);
	}
	return count;
}

/* The innermost call's address of each physical frame stands for all calls inlined into it. */
static size_t check_stack(struct symbolizer *s, const struct truth *stack, size_t count)
{
	size_t inlined = 0;

	for (size_t at = 0; at < count;) {
		const struct location *l;

		l = symbolizer_find(s, 9, stack[at].address, false, false);
		assert_non_null(l);
		assert_int_equal(l->kind, FRAME_GO);
		assert_int_equal(l->address, stack[at].address - 1);
		if (!strcmp(stack[at].function, "runtime.goexit")) {
			assert_int_equal(l->frame_count, 0);
			assert_int_equal(at, count - 1);
			break;
		}
		assert_true(l->frame_count >= 1 && at + l->frame_count <= count);
		assert_non_null(l->mapping);
		assert_true(strlen(l->mapping->build_id_go) > 8);
		for (size_t i = 0; i < l->frame_count; i++, at++) {
			assert_function(l->frames[i].function, stack[at].function);
			assert_string_equal(l->frames[i].file, stack[at].file);
			assert_int_equal(l->frames[i].line, stack[at].line);
			assert_true(l->frames[i].start_line > 0);
		}
		inlined += l->frame_count - 1;
	}
	return inlined;
}

static void open_go_image(struct block_cache *cache, struct symbolizer *s, pid_t pid, bool replaced,
			  struct process **p, struct gobinary **binary)
{
	struct elf_image *image;
	uint64_t bias;
	int fd;

	assert_int_equal(process_open(pid, p), 0);
	if (replaced)
		assert_int_equal(unlink(process_get_executable(*p)), 0);
	fd = process_open_executable(*p);
	assert_int_equal(gobinary_open(fd, cache, binary), 0);
	assert_int_equal(elf_image_open(fd, cache, &image), 0);
	assert_int_equal(process_read_mappings(*p), 0);
	assert_int_equal(process_get_load_bias(*p, elf_image_get_segment(image, 0)->address, &bias),
			 0);
	elf_image_close(image);
	close(fd);
	assert_int_equal(symbolizer_add_image(s, 9, *p, *binary, bias), 0);
}

static void check_program(bool replaced)
{
	char directory[] = "/tmp/test_symbolize_XXXXXX", path[64];
	size_t stacks = 0, frames = 0, inlined = 0, count;
	struct gobinary *binary = NULL;
	struct process *p = NULL;
	struct truth stack[64];
	struct symbolizer_config config = {.locations_max = 1000};
	struct block_cache *cache;
	struct symbolizer *s;
	FILE *output;
	int input;
	pid_t pid;

	assert_non_null(mkdtemp(directory));
	snprintf(path, sizeof(path), "%s/frames", directory);
	build_truth_program(path);
	pid = start_truth_program(path, &input, &output);
	assert_int_equal(block_cache_open(2 << 20, &cache), 0);
	config.cache = cache;
	assert_int_equal(symbolizer_open(&config, &s), 0);
	while ((count = read_stack(output, stack, 64))) {
		if (!stacks++)
			open_go_image(cache, s, pid, replaced, &p, &binary);
		frames += count;
		inlined += check_stack(s, stack, count);
	}
	assert_int_equal(stacks, 13);
	assert_true(frames > 70);
	assert_true(inlined == 0 || inlined > 10);
	print_message("%zu stacks, %zu frames, %zu of them inlined\n", stacks, frames, inlined);
	close(input);
	waitpid(pid, NULL, 0);
	fclose(output);
	unlink(path);
	rmdir(directory);
	symbolizer_forget(s, 9);
	gobinary_close(binary);
	process_close(p);
	symbolizer_close(s);
	block_cache_close(cache);
}

static void test_go(void **state)
{
	check_program(false);
}

/* The file goes after the process was opened, as in an upgrade: paths get " (deleted)". */
static void test_replaced(void **state)
{
	check_program(true);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_go),
		cmocka_unit_test(test_replaced),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
