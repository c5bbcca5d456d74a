/* SPDX-License-Identifier: Apache-2.0 */
/* Addresses → locations against the dynamic linker and kallsyms; the cache. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <dlfcn.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "gobinary/block_cache.h"
#include "gobinary/pclntab.h"
#include "process/process.h"
#include "symbolize/go_frames.h"
#include "symbolize/symbolize.h"

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
	open_bench(&b, 1000, true);
	close_bench(&b); /* while the names are still being read */
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

static void test_state(void **state)
{
	const struct location *l, *other;
	struct bench b;
	uint64_t id;

	open_bench(&b, 16, false);
	l = symbolizer_find_state(b.s, "[chan receive]");
	assert_int_equal(l->kind, FRAME_STATE);
	assert_int_equal(l->address, 0);
	assert_null(l->mapping);
	assert_int_equal(l->frame_count, 1);
	assert_string_equal(l->frames[0].function, "[chan receive]");
	assert_string_equal(l->frames[0].file, "");
	assert_ptr_equal(symbolizer_find_state(b.s, "[chan receive]"), l);
	other = symbolizer_find_state(b.s, "[select]");
	assert_ptr_not_equal(other, l);
	assert_string_equal(other->frames[0].function, "[select]");
	id = other->id;
	symbolizer_reset(b.s);
	l = symbolizer_find_state(b.s, "[select]");
	assert_true(l->id > id);
	assert_string_equal(l->frames[0].function, "[select]");
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_native),	       cmocka_unit_test(test_vdso),
		cmocka_unit_test(test_unknown),	       cmocka_unit_test(test_kernel),
		cmocka_unit_test(test_state),	       cmocka_unit_test(test_forget),
		cmocka_unit_test(test_full_and_reset), cmocka_unit_test(test_wrappers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
