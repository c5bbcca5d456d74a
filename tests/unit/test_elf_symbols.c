/* SPDX-License-Identifier: Apache-2.0 */
/* ELF symbols: a made-up table, broken ones, and the C library's against the dynamic linker. */
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
#include <link.h>

#include "gobinary/block_cache.h"
#include "small_elf.h"
#include "symbolize/elf_symbols.h"

#define FUNCTION(name_at, address, bytes)                                                          \
	{                                                                                          \
		.st_name = (name_at), .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC),              \
		.st_shndx = 1, .st_value = (address), .st_size = (bytes)                           \
	}

/* Offsets: alpha 1, _alpha 7, inner 14, sizeless 20, unfinished 29 */
static const char strings[] = "\0alpha\0_alpha\0inner\0sizeless\0unfinished";

static const Elf64_Sym symbols[] = {
	{0},
	FUNCTION(29, SMALL_ELF_TEXT + 0x800, 0x10),
	FUNCTION(7, SMALL_ELF_TEXT + 0x100, 0x100),
	FUNCTION(1, SMALL_ELF_TEXT + 0x100, 0x100),
	FUNCTION(14, SMALL_ELF_TEXT + 0x140, 0x10),
	FUNCTION(20, SMALL_ELF_TEXT + 0x300, 0),
	FUNCTION(1000, SMALL_ELF_TEXT + 0x400, 0x10),	   /* name outside the strings */
	FUNCTION(1, UINT64_C(0xffffffffffffff00), 0x1000), /* far away */
	FUNCTION(1, 0x1000, 0x10),			   /* below the first segment */
	FUNCTION(1, SMALL_ELF_TEXT + 0x500, UINT64_MAX),   /* bigger than any function */
	{.st_name = 1,
	 .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_OBJECT),
	 .st_shndx = 1,
	 .st_value = SMALL_ELF_TEXT + 0x600,
	 .st_size = 16},
	{.st_name = 1,
	 .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC),
	 .st_value = SMALL_ELF_TEXT + 0x700,
	 .st_size = 16}, /* undefined */
};

static const struct small_elf sample = {
	.symbols = symbols,
	.symbol_count = sizeof(symbols) / sizeof(symbols[0]),
	.strings = strings,
	.strings_size = sizeof(strings) - 1, /* the last name has no end */
	.table_name = ".symtab",
	.strings_name = ".strtab",
};

static void open_sample(const struct small_elf *from, uint64_t skip_start, uint64_t skip_end,
			struct block_cache **cache, struct elf_symbols **s)
{
	int fd = small_elf_open(from);

	assert_true(fd >= 0);
	assert_int_equal(block_cache_open(1 << 20, cache), 0);
	assert_int_equal(elf_symbols_open(fd, *cache, skip_start, skip_end, s), 0);
	close(fd);
}

static void assert_symbol(struct elf_symbols *s, uint64_t address, const char *expected)
{
	char name[64] = "";
	int err = elf_symbols_find(s, address - SMALL_ELF_BASE, name, sizeof(name));

	if (!expected) {
		assert_int_equal(err, -ENOENT);
		return;
	}
	assert_int_equal(err, 0);
	assert_string_equal(name, expected);
}

static void test_made_up_table(void **state)
{
	struct block_cache *cache;
	struct elf_symbols *s;
	char cut[4];

	open_sample(&sample, 0, 0, &cache, &s);
	assert_string_equal(elf_symbols_get_build_id(s), "");
	assert_symbol(s, SMALL_ELF_TEXT + 0xff, NULL);
	assert_symbol(s, SMALL_ELF_TEXT + 0x100, "alpha"); /* not _alpha */
	assert_symbol(s, SMALL_ELF_TEXT + 0x140, "inner");
	assert_symbol(s, SMALL_ELF_TEXT + 0x14f, "inner");
	assert_symbol(s, SMALL_ELF_TEXT + 0x150, "alpha"); /* behind the inner one */
	assert_symbol(s, SMALL_ELF_TEXT + 0x1ff, "alpha");
	assert_symbol(s, SMALL_ELF_TEXT + 0x200, NULL);
	assert_symbol(s, SMALL_ELF_TEXT + 0x300, NULL); /* without a size */
	assert_symbol(s, SMALL_ELF_TEXT + 0x500, NULL);
	assert_symbol(s, SMALL_ELF_TEXT + 0x600, NULL); /* an object */
	assert_symbol(s, SMALL_ELF_TEXT + 0x700, NULL);
	assert_symbol(s, SMALL_ELF_TEXT + 0x80f, "unfinished");
	assert_symbol(s, SMALL_ELF_BASE + 0x100000, NULL); /* outside the file */
	assert_int_equal(elf_symbols_find(s, 0x1100, cut, sizeof(cut)), 0);
	assert_string_equal(cut, "alp");
	elf_symbols_close(s);
	block_cache_close(cache);
}

static void test_skipped_range(void **state)
{
	struct block_cache *cache;
	struct elf_symbols *s;

	open_sample(&sample, SMALL_ELF_TEXT, SMALL_ELF_TEXT + 0x140, &cache, &s);
	assert_symbol(s, SMALL_ELF_TEXT + 0x100, NULL);
	assert_symbol(s, SMALL_ELF_TEXT + 0x140, "inner");
	elf_symbols_close(s);
	block_cache_close(cache);
}

static void test_other_tables(void **state)
{
	struct small_elf dynamic = sample, none = sample;
	struct block_cache *cache;
	struct elf_symbols *s;

	dynamic.table_name = ".dynsym";
	dynamic.strings_name = ".dynstr";
	open_sample(&dynamic, 0, 0, &cache, &s);
	assert_symbol(s, SMALL_ELF_TEXT + 0x140, "inner");
	elf_symbols_close(s);
	block_cache_close(cache);
	none.table_name = NULL;
	open_sample(&none, 0, 0, &cache, &s);
	assert_symbol(s, SMALL_ELF_TEXT + 0x140, NULL);
	elf_symbols_close(s);
	block_cache_close(cache);
}

static void test_not_elf(void **state)
{
	int fd = memfd_create("text", MFD_CLOEXEC);
	struct block_cache *cache;
	struct elf_symbols *s;

	assert_int_equal(write(fd, "#!/bin/sh\n", 10), 10);
	assert_int_equal(block_cache_open(1 << 20, &cache), 0);
	assert_int_equal(elf_symbols_open(fd, cache, 0, 0, &s), -ENOEXEC);
	close(fd);
	block_cache_close(cache);
}

/* Every third byte of some functions of libc: our name must be one that the linker knows for it. */
static void test_libc(void **state)
{
	static const char *const names[] = {"getenv", "qsort",	"printf", "fopen",   "malloc",
					    "strtol", "getpid", "read",	  "opendir", "regcomp"};
	/* libc itself, since a sanitizer has functions of its own in front. */
	void *libc = dlopen("libc.so.6", RTLD_NOW | RTLD_NOLOAD);
	struct block_cache *cache;
	struct elf_symbols *s;
	Dl_info info;
	int fd;

	assert_true(dladdr(dlsym(libc, "getenv"), &info) != 0);
	fd = open(info.dli_fname, O_RDONLY);
	assert_true(fd >= 0);
	assert_int_equal(block_cache_open(1 << 20, &cache), 0);
	assert_int_equal(elf_symbols_open(fd, cache, 0, 0, &s), 0);
	close(fd);
	assert_true(strlen(elf_symbols_get_build_id(s)) >= 32);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		const ElfW(Sym) * symbol;
		char *start = dlsym(libc, names[i]);

		assert_true(dladdr1(start, &info, (void **)&symbol, RTLD_DL_SYMENT) != 0);
		assert_non_null(symbol);
		for (size_t at = 0; at < symbol->st_size; at += 3) {
			/* libc's text lies at the same offset in memory and in its file. */
			uint64_t offset = (uint64_t)(start + at - (char *)info.dli_fbase);
			char name[256];

			assert_int_equal(elf_symbols_find(s, offset, name, sizeof(name)), 0);
			if (strcmp(name, names[i]))
				assert_ptr_equal(dlsym(libc, name), start);
		}
	}
	dlclose(libc);
	elf_symbols_close(s);
	block_cache_close(cache);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_made_up_table), cmocka_unit_test(test_skipped_range),
		cmocka_unit_test(test_other_tables),  cmocka_unit_test(test_not_elf),
		cmocka_unit_test(test_libc),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
