/* SPDX-License-Identifier: Apache-2.0 */
/* Addresses → locations against the dynamic linker, kallsyms and Go's own runtime; the cache. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <spawn.h>
#include <sys/auxv.h>
#include <sys/wait.h>
#include <unistd.h>

#include "gobinary/block_cache.h"
#include "gobinary/elf_image.h"
#include "gobinary/gobinary.h"
#include "process/process.h"
#include "symbolize/go_frames.h"
#include "symbolize/symbolize.h"

#ifndef FRAMES_BUILD_FLAG /* other builds of the truth program are tried by hand */
#define FRAMES_BUILD_FLAG "-ldflags=-s -w"
#endif

extern char **environ;

struct bench {
	struct block_cache *cache;
	struct process *self;
	struct symbolizer *s;
};

static void open_bench(struct bench *b, size_t locations_max, bool kernel)
{
	struct symbolizer_config config = {.locations_max = locations_max, .kernel = kernel};

	assert_int_equal(block_cache_open(2 << 20, &b->cache), 0);
	config.cache = b->cache;
	assert_int_equal(process_open(getpid(), &b->self), 0);
	assert_int_equal(symbolizer_open(&config, &b->s), 0);
	assert_int_equal(symbolizer_add_image(b->s, 5, b->self, NULL, 0), 0);
}

static void close_bench(struct bench *b)
{
	symbolizer_close(b->s);
	process_close(b->self);
	block_cache_close(b->cache);
}

/* A long function of libc itself: sanitizers put functions of their own in front. */
static uint64_t address_of_regcomp(void)
{
	void *libc = dlopen("libc.so.6", RTLD_NOW | RTLD_NOLOAD);
	uint64_t address = (uintptr_t)dlsym(libc, "regcomp");

	dlclose(libc);
	return address;
}

static void test_native(void **state)
{
	uint64_t address = address_of_regcomp() + 8;
	const struct location *l, *caller;
	struct symbolizer_stats stats;
	struct bench b;

	open_bench(&b, 1000, false);
	l = symbolizer_find(b.s, 5, address, true, false);
	assert_non_null(l);
	assert_int_equal(l->kind, FRAME_NATIVE);
	assert_int_equal(l->address, address);
	assert_int_equal(l->frame_count, 1);
	assert_string_equal(l->frames[0].function, "regcomp");
	assert_string_equal(l->frames[0].file, "");
	assert_int_equal(l->frames[0].line, 0);
	assert_non_null(strstr(l->mapping->file, "libc.so"));
	assert_true(address >= l->mapping->memory_start && address < l->mapping->memory_limit);
	assert_true(strlen(l->mapping->build_id_gnu) >= 32);
	assert_string_equal(l->mapping->build_id_go, "");
	/* A return address is looked up one byte before and is another location. */
	caller = symbolizer_find(b.s, 5, address - 7, false, false);
	assert_string_equal(caller->frames[0].function, "regcomp");
	assert_int_equal(caller->address, address - 8);
	assert_ptr_equal(caller->mapping, l->mapping);
	assert_int_not_equal(caller->id, l->id);
	assert_ptr_equal(symbolizer_find(b.s, 5, address, true, false), l);
	symbolizer_get_stats(b.s, &stats);
	assert_int_equal(stats.lookups, 3);
	assert_int_equal(stats.cache_hits, 1);
	assert_int_equal(stats.locations, 2);
	assert_int_equal(stats.unknown, 0);
	close_bench(&b);
}

static void test_vdso(void **state)
{
	uint64_t vdso = getauxval(AT_SYSINFO_EHDR);
	const struct location *l;
	size_t named = 0;
	struct bench b;

	assert_true(vdso != 0);
	open_bench(&b, 100000, false);
	for (uint64_t at = vdso; at < vdso + 4096; at++) {
		l = symbolizer_find(b.s, 5, at, true, false);
		assert_string_equal(l->mapping->file, "[vdso]");
		named += l->frame_count && !strcmp(l->frames[0].function, "clock_gettime");
	}
	assert_true(named > 4);
	close_bench(&b);
}

static void test_unknown(void **state)
{
	const struct location *l;
	struct symbolizer_stats stats;
	struct bench b;

	open_bench(&b, 1000, false);
	/* No mapping, no such image, a kernel that may not be read. */
	l = symbolizer_find(b.s, 5, 0x10, true, false);
	assert_null(l->mapping);
	assert_int_equal(l->frame_count, 0);
	assert_int_equal(l->kind, FRAME_NATIVE);
	l = symbolizer_find(b.s, 6, address_of_regcomp(), true, false);
	assert_null(l->mapping);
	assert_int_equal(l->frame_count, 0);
	l = symbolizer_find(b.s, 5, 0xffffffff81000000, true, true);
	assert_int_equal(l->kind, FRAME_KERNEL);
	assert_string_equal(l->mapping->file, "[kernel]");
	assert_int_equal(l->frame_count, 0);
	/* The stack is a mapping, but no file. */
	l = symbolizer_find(b.s, 5, (uintptr_t)&b, true, false);
	assert_string_equal(l->mapping->file, "[stack]");
	assert_int_equal(l->frame_count, 0);
	symbolizer_get_stats(b.s, &stats);
	assert_int_equal(stats.unknown, 4);
	assert_false(stats.kernel_names_hidden);
	close_bench(&b);
}

static void test_kernel(void **state)
{
	FILE *file = fopen("/proc/kallsyms", "r");
	struct symbolizer_stats stats;
	const struct location *l;
	char name[600], type;
	uint64_t address = 0;
	struct bench b;

	while (fscanf(file, "%lx %c %599s%*[^\n]", &address, &type, name) == 3)
		if (!strcmp(name, "schedule"))
			break;
	fclose(file);
	open_bench(&b, 1000, true);
	l = symbolizer_find(b.s, 5, address ? address + 4 : 0xffffffff81000000, false, true);
	assert_int_equal(l->kind, FRAME_KERNEL);
	symbolizer_get_stats(b.s, &stats);
	assert_int_equal(stats.kernel_names_hidden, !address);
	assert_int_equal(l->frame_count, address ? 1 : 0);
	if (address)
		assert_string_equal(l->frames[0].function, "schedule");
	close_bench(&b);
}

static void test_full_and_reset(void **state)
{
	uint64_t address = address_of_regcomp();
	const struct location *l;
	uint64_t last_id = 0, mapping_id;
	struct bench b;
	size_t i;

	open_bench(&b, 16, false);
	for (i = 0; i < 32; i++) {
		assert_int_equal(symbolizer_is_full(b.s), i >= 16);
		l = symbolizer_find(b.s, 5, address + i, true, false);
		assert_non_null(l);
		assert_true(l->id > last_id);
		last_id = l->id;
	}
	mapping_id = l->mapping->id;
	/* At twice the cap only what is known is found. */
	assert_null(symbolizer_find(b.s, 5, address + i, true, false));
	assert_non_null(symbolizer_find(b.s, 5, address, true, false));
	symbolizer_reset(b.s);
	assert_false(symbolizer_is_full(b.s));
	l = symbolizer_find(b.s, 5, address, true, false);
	assert_int_equal(l->id, last_id + 1);
	assert_int_not_equal(l->mapping->id, mapping_id);
	assert_string_equal(l->frames[0].function, "regcomp");
	close_bench(&b);
}

/* Locations outlive their image; the next image of that key does not get them. */
static void test_forget(void **state)
{
	uint64_t address = address_of_regcomp();
	const struct location *before, *after;
	struct bench b;

	open_bench(&b, 100, false);
	before = symbolizer_find(b.s, 5, address, true, false);
	symbolizer_forget(b.s, 5);
	symbolizer_forget(b.s, 5);
	assert_int_equal(symbolizer_add_image(b.s, 5, b.self, NULL, 0), 0);
	after = symbolizer_find(b.s, 5, address, true, false);
	assert_string_equal(before->frames[0].function, "regcomp");
	assert_string_equal(after->frames[0].function, "regcomp");
	assert_int_not_equal(before->id, after->id);
	close_bench(&b);
}

static void test_wrappers(void **state)
{
	struct go_frame frames[] = {
		{.function = "runtime.panicwrap"},
		{.function = "main.(*T).Work", .wrapper = true},
		{.function = "main.(*U).Work", .wrapper = true},
		{.function = "main.main"},
	};

	assert_true(go_frame_is_shown(frames, 0));
	assert_true(go_frame_is_shown(frames, 1));
	assert_false(go_frame_is_shown(frames, 2));
	assert_true(go_frame_is_shown(frames, 3));
	assert_false(go_frame_is_shown(frames + 1, 0));
}

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

static void open_go_image(struct bench *b, pid_t pid, struct process **p, struct gobinary **binary)
{
	struct elf_image *image;
	uint64_t bias;
	int fd;

	assert_int_equal(process_open(pid, p), 0);
	fd = process_open_executable(*p);
	assert_int_equal(gobinary_open(fd, b->cache, binary), 0);
	assert_int_equal(elf_image_open(fd, b->cache, &image), 0);
	assert_int_equal(process_read_mappings(*p), 0);
	assert_int_equal(process_get_load_bias(*p, elf_image_get_segment(image, 0)->address, &bias),
			 0);
	elf_image_close(image);
	close(fd);
	assert_int_equal(symbolizer_add_image(b->s, 9, *p, *binary, bias), 0);
}

static void test_go(void **state)
{
	char directory[] = "/tmp/test_symbolize_XXXXXX", path[64];
	size_t stacks = 0, frames = 0, inlined = 0, count;
	struct gobinary *binary = NULL;
	struct process *p = NULL;
	struct truth stack[64];
	struct bench b;
	FILE *output;
	int input;
	pid_t pid;

	assert_non_null(mkdtemp(directory));
	snprintf(path, sizeof(path), "%s/frames", directory);
	build_truth_program(path);
	pid = start_truth_program(path, &input, &output);
	open_bench(&b, 1000, false);
	while ((count = read_stack(output, stack, 64))) {
		if (!stacks++)
			open_go_image(&b, pid, &p, &binary);
		frames += count;
		inlined += check_stack(b.s, stack, count);
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
	symbolizer_forget(b.s, 9);
	gobinary_close(binary);
	process_close(p);
	close_bench(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_native),	cmocka_unit_test(test_vdso),
		cmocka_unit_test(test_unknown), cmocka_unit_test(test_kernel),
		cmocka_unit_test(test_forget),	cmocka_unit_test(test_full_and_reset),
		cmocka_unit_test(test_go),	cmocka_unit_test(test_wrappers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
