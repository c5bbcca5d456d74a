/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The slice of all goroutines, from the code that appends to it. Both decoders are compiled in
 * here under other names; their bytes are those of Go 1.26.
 */
#include <elf.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "arm64_operands.h"
#include "go_program.h"
#include "gobinary/all_goroutines.h"
#include "gobinary/block_cache.h"
#include "gobinary/elf_image.h"
#include "gobinary/moduledata.h"

#define AT 0x100000u

static void check_arm64(const uint32_t *words, size_t size, const uint64_t *expected, size_t count)
{
	uint64_t found[16];

	assert_int_equal(arm64_variables((const uint8_t *)words, size, AT, found, 16), count);
	for (size_t i = 0; i < count; i++)
		assert_int_equal(found[i], expected[i]);
}

#define CHECK_ARM64(words, ...)                                                                    \
	check_arm64(words, sizeof(words), (const uint64_t[]){__VA_ARGS__},                         \
		    sizeof((const uint64_t[]){__VA_ARGS__}) / 8)

static void test_arm64(void **state)
{
	/* adrp x0, +0x465000; add x0, x0, 0xc48; bl; ldr x1, [x0, 8] */
	const uint32_t address[] = {0xb0002320, 0x91312000, 0x97ff3f65, 0xf9400401};
	/* adrp x27; add x27, x27, 0x1f0; ldp x0, x1, [x27]; adrp x27; ldr x2, [x27, 0x200] */
	const uint32_t pair[] = {0xb00021fb, 0x9107c37b, 0xa9400760, 0xb00021fb, 0xf9410362};
	/* adrp x27; str x1, [x27, 0x1f8]; stp x4, x3, [x25]; ldr w5, [x27, 0xf90] */
	const uint32_t store[] = {0xb00021fb, 0xf900ff61, 0xa9000f24, 0xb94f9365};
	/* adrp x27; ldp x27, x1, [x27, -16]; ldr x2, [x27]: what was loaded is no address */
	const uint32_t reloaded[] = {0xb00021fb, 0xa97f077b, 0xf9400362};
	/* sub sp; ldr x1, [sp, 8]; add x3, x4, 8: nothing of the program's own */
	const uint32_t none[] = {0xd10083ff, 0xf94007e1, 0x91002083};

	assert_int_equal(arm64_machine, EM_AARCH64);
	CHECK_ARM64(address, AT + 0x465000 + 0xc48);
	CHECK_ARM64(pair, AT + 0x43d000 + 0x1f0, AT + 0x43d000 + 0x1f0, AT + 0x43d000 + 0x1f8,
		    AT + 0x43d000 + 0x200);
	CHECK_ARM64(store, AT + 0x43d000 + 0x1f8);
	CHECK_ARM64(reloaded, AT + 0x43d000 - 16, AT + 0x43d000 - 8);
	check_arm64(none, sizeof(none), NULL, 0);
	/* cut behind the first half of a word, and more variables than there is room for */
	check_arm64(address, 7, NULL, 0);
	uint64_t found = 0;

	assert_int_equal(arm64_variables((const uint8_t *)pair, sizeof(pair), AT, &found, 1), 1);
	assert_int_equal(found, AT + 0x43d000 + 0x1f0);
}

static uint64_t find(struct go_image *m, const struct moduledata *module, uint64_t start,
		     uint64_t end)
{
	struct go_function_range functions[FUNCTION_COUNT] = {{0}};
	struct block_cache *cache;
	struct elf_image *image;
	uint64_t found;
	int fd = go_image_file(m);

	functions[FUNCTION_ALLGADD] = (struct go_function_range){start, end};
	assert_int_equal(block_cache_open(1 << 20, &cache), 0);
	assert_int_equal(elf_image_open(fd, cache, &image), 0);
	found = all_goroutines_find(image, module, functions);
	elf_image_close(image);
	block_cache_close(cache);
	close(fd);
	return found;
}

static void test_found(void **state)
{
	static struct go_image m;
	static const uint8_t code[32];
	struct moduledata module = {.data = GO_IMAGE_VARIABLES, .ebss = GO_IMAGE_END};
	const uint16_t machine = EM_RISCV;
	uint64_t at;

	go_image_open(&m, false);
	at = go_image_add_function(&m, "runtime.allgadd", 0, code, sizeof(code));
	go_program_put_allgadd(&m, at);
	assert_int_equal(find(&m, &module, at, at + 32), GO_PROGRAM_ALLGS);
	/* A function that is larger than expected is read in part. */
	assert_int_equal(find(&m, &module, at, at + (1u << 20)), GO_PROGRAM_ALLGS);
	/* No function, or one outside the file. */
	assert_int_equal(find(&m, &module, 0, 0), 0);
	assert_int_equal(find(&m, &module, GO_IMAGE_END, GO_IMAGE_END + 32), 0);
	/* Not among the variables, or not in whole. */
	module.data = GO_PROGRAM_ALLGS + 8;
	assert_int_equal(find(&m, &module, at, at + 32), 0);
	module.data = GO_PROGRAM_ALLGS;
	module.ebss = GO_PROGRAM_ALLGS + 23;
	assert_int_equal(find(&m, &module, at, at + 32), 0);
	module.ebss = GO_PROGRAM_ALLGS + 24;
	assert_int_equal(find(&m, &module, at, at + 32), GO_PROGRAM_ALLGS);
	go_image_put(&m, GO_IMAGE_BASE + offsetof(Elf64_Ehdr, e_machine), &machine, 2);
	assert_int_equal(find(&m, &module, at, at + 32), 0);
}

#if defined(__x86_64__)

static size_t x86_64(const char *code, size_t size, uint64_t *found)
{
	return code_operands_variables((const uint8_t *)code, size, AT, found, 8);
}

static void test_x86_64(void **state)
{
	/* lea rax, [rip+0x100]; mov rcx, [rip-8]; cmp dword [rip+0x10], 0; mov rax, [rbx+8] */
	const char code[] = "\x48\x8d\x05\0\x01\0\0\x48\x8b\x0d\xf8\xff\xff\xff"
			    "\x83\x3d\x10\0\0\0\0\x48\x8b\x43\x08";
	/* mov rax, [0x1000]: absolute; mov rax, fs:[-8]; call +5; ret */
	const char none[] = "\x48\x8b\x04\x25\0\x10\0\0\x64\x48\x8b\x04\x25\xf8\xff\xff\xff"
			    "\xe8\5\0\0\0\xc3";
	uint64_t found[8] = {0};

	assert_int_equal(x86_64(code, sizeof(code) - 1, found), 3);
	assert_int_equal(found[0], AT + 7 + 0x100);
	assert_int_equal(found[1], AT + 14 - 8);
	/* behind the immediate, not behind the displacement */
	assert_int_equal(found[2], AT + 21 + 0x10);
	assert_int_equal(x86_64(none, sizeof(none) - 1, found), 0);
	/* cut in the second instruction; and bytes that are none before it */
	assert_int_equal(x86_64(code, 12, found), 1);
	assert_int_equal(x86_64("\x06\x48\x8d\x05\0\0\0\0", 8, found), 0);
	assert_int_equal(
		code_operands_variables((const uint8_t *)code, sizeof(code) - 1, AT, found, 2), 2);
}

/* Four variables in a row: no telling which three the slice is. */
static void test_ambiguous(void **state)
{
	static struct go_image m;
	struct moduledata module = {.data = GO_IMAGE_VARIABLES, .ebss = GO_IMAGE_END};
	static const uint8_t code[28];
	uint64_t at;

	go_image_open(&m, false);
	at = go_image_add_function(&m, "runtime.allgadd", 0, code, sizeof(code));
	for (uint64_t i = 0; i < 4; i++) {
		go_image_put(&m, at + 7 * i, "\x48\x8b\x05", 3);
		go_image_put32(&m, at + 7 * i + 3,
			       (uint32_t)(GO_PROGRAM_ALLGS + 8 * i - (at + 7 * i + 7)));
	}
	assert_int_equal(find(&m, &module, at, at + 28), 0);
	assert_int_equal(find(&m, &module, at, at + 21), GO_PROGRAM_ALLGS);
	/* The same place twice is no doubt; words that are not aligned are none. */
	go_image_put32(&m, at + 24, (uint32_t)(GO_PROGRAM_ALLGS - (at + 28)));
	assert_int_equal(find(&m, &module, at, at + 28), GO_PROGRAM_ALLGS);
	for (uint64_t i = 0; i < 4; i++)
		go_image_put32(&m, at + 7 * i + 3,
			       (uint32_t)(GO_PROGRAM_ALLGS + 4 + 8 * i - (at + 7 * i + 7)));
	assert_int_equal(find(&m, &module, at, at + 21), 0);
}

#endif

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_arm64),
		cmocka_unit_test(test_found),
#if defined(__x86_64__)
		cmocka_unit_test(test_x86_64),
		cmocka_unit_test(test_ambiguous),
#endif
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
