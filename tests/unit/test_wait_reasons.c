/* SPDX-License-Identifier: Apache-2.0 */
/* Why goroutines wait: names from the table that the runtime's own function reads. */
#include <elf.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "arm64_operands.h"
#include "go_image.h"
#include "gobinary/block_cache.h"
#include "gobinary/elf_image.h"
#include "gobinary/moduledata.h"
#include "gobinary/wait_reasons.h"

#define TABLE (GO_IMAGE_VARIABLES + 0x100)
#define TEXT  (GO_IMAGE_VARIABLES + 0x400)
#define COUNT 5

static const char *const all[COUNT] = {"", "GC assist marking", "IO wait", "select (no cases)",
				       "chan receive"};

struct program {
	struct go_image image;
	struct moduledata module;
	struct go_function_range functions[FUNCTION_COUNT];
	uint64_t code;
};

#if defined(__aarch64__)

/* cmp w0, COUNT; adrp x27; add x27, x27, low; ret */
static void put_code(struct go_image *m, uint64_t at, uint64_t variable)
{
	uint64_t pages = (variable >> 12) - ((at + 4) >> 12);

	go_image_put32(m, at, 0x7100001fu | COUNT << 10);
	go_image_put32(m, at + 4,
		       0x9000001bu | (uint32_t)(pages & 3) << 29 | (uint32_t)(pages >> 2) << 5);
	go_image_put32(m, at + 8, 0x9100037bu | (uint32_t)(variable & 0xfff) << 10);
	go_image_put32(m, at + 12, 0xd65f03c0u);
}

static void put_count(struct go_image *m, uint64_t at, uint8_t count)
{
	go_image_put32(m, at, 0x7100001fu | (uint32_t)count << 10);
}

#else

/* cmp al, COUNT; lea rdx, [variable]; ret */
static void put_code(struct go_image *m, uint64_t at, uint64_t variable)
{
	go_image_put(m, at, "\x3c\5\x48\x8d\x15....\xc3", 10);
	go_image_put32(m, at + 5, (uint32_t)(variable - (at + 9)));
}

static void put_count(struct go_image *m, uint64_t at, uint8_t count)
{
	go_image_put(m, at + 1, &count, 1);
}

#endif

static void put_name(struct go_image *m, size_t index, const char *name)
{
	uint64_t text = TEXT + 64 * index;

	go_image_put(m, text, name, strlen(name));
	go_image_put64(m, TABLE + 16 * index + 8, strlen(name));
	if (*name)
		go_image_put_pointer(m, TABLE + 16 * index, text);
}

static void fill(struct program *p, bool pie)
{
	static const uint8_t code[32];

	memset(p, 0, sizeof(*p));
	go_image_open(&p->image, pie);
	p->module = (struct moduledata){.data = GO_IMAGE_VARIABLES, .ebss = GO_IMAGE_END};
	p->code = go_image_add_function(&p->image, "runtime.waitReason.String", 0, code,
					sizeof(code));
	p->functions[FUNCTION_WAIT_REASON] =
		(struct go_function_range){p->code, p->code + sizeof(code)};
	put_code(&p->image, p->code, TABLE);
	for (size_t i = 0; i < COUNT; i++)
		put_name(&p->image, i, all[i]);
	go_image_put_dynamic(&p->image);
}

static size_t find(struct program *p, struct wait_reasons *out)
{
	int fd = go_image_file(&p->image);
	struct block_cache *cache;
	struct elf_image *image;

	assert_int_equal(block_cache_open(1 << 20, &cache), 0);
	assert_int_equal(elf_image_open(fd, cache, &image), 0);
	wait_reasons_find(image, &p->module, p->functions, out);
	elf_image_close(image);
	block_cache_close(cache);
	close(fd);
	assert_true(!out->count == !out->names);
	return out->count;
}

static void assert_found(struct program *p, bool found)
{
	struct wait_reasons out;

	assert_int_equal(find(p, &out), found ? COUNT : 0);
	for (size_t i = 0; i < out.count; i++)
		assert_string_equal(out.names[i], all[i]);
	free(out.names);
}

static void test_found(void **state)
{
	static struct program p;
	const uint16_t machine = EM_RISCV;

	fill(&p, false);
	assert_found(&p, true);
	fill(&p, true);
	assert_found(&p, true);
	/* A function that is larger than expected is read in part. */
	p.functions[FUNCTION_WAIT_REASON].end += 1 << 20;
	assert_found(&p, true);
	go_image_put(&p.image, GO_IMAGE_BASE + offsetof(Elf64_Ehdr, e_machine), &machine, 2);
	assert_found(&p, false);
	fill(&p, false);
	p.functions[FUNCTION_WAIT_REASON] = (struct go_function_range){0};
	assert_found(&p, false);
	p.functions[FUNCTION_WAIT_REASON] =
		(struct go_function_range){GO_IMAGE_END, GO_IMAGE_END + 32};
	assert_found(&p, false);
}

/* Another table, or one that lies: no reason has a name then. */
static void test_odd_tables(void **state)
{
	static struct program p;
	const char *const odd[COUNT] = {"idle", "GC assist", "IO", "a\nb", ""};
	char longest[WAIT_REASON_SIZE + 1];

	for (size_t i = 0; i < COUNT; i++) {
		fill(&p, false);
		put_name(&p.image, i, odd[i]);
		assert_found(&p, false);
	}
	fill(&p, false);
	memset(longest, 'x', sizeof(longest));
	longest[WAIT_REASON_SIZE] = '\0';
	put_name(&p.image, 3, longest);
	assert_found(&p, false);
	/* A name outside of the file. */
	fill(&p, false);
	go_image_put64(&p.image, TABLE + 16 * 4, GO_IMAGE_END);
	assert_found(&p, false);
	/* As many as it has, or fewer: what the code compares with counts. */
	fill(&p, false);
	put_count(&p.image, p.code, COUNT + 1);
	assert_found(&p, false);
	put_count(&p.image, p.code, 2);
	assert_found(&p, false);
	put_count(&p.image, p.code, WAIT_REASONS_MAX + 1);
	assert_found(&p, false);
	/* Not among the variables, or not in whole; not aligned. */
	fill(&p, false);
	p.module.data = TABLE + 8;
	assert_found(&p, false);
	p.module.data = TABLE;
	p.module.ebss = TABLE + 16 * COUNT - 1;
	assert_found(&p, false);
	p.module.ebss = TABLE + 16 * COUNT;
	assert_found(&p, true);
	put_code(&p.image, p.code, TABLE + 4);
	assert_found(&p, false);
}

static uint8_t arm64_compares(uint32_t first, uint32_t second)
{
	const uint32_t words[] = {first, second, 0xd65f03c0};

	return arm64_comparison((const uint8_t *)words, sizeof(words));
}

static void test_arm64(void **state)
{
	/* cmp w0, 47; cmp x5, 41; and, sub w3, w0, 1 before it; cmp w0, 256 and cmp w0, w1 are none
	 */
	assert_int_equal(arm64_compares(0x7100bc1f, 0xd503201f), 47);
	assert_int_equal(arm64_compares(0xf100a4bf, 0x7100bc1f), 41);
	assert_int_equal(arm64_compares(0x51000403, 0x7100bc1f), 47);
	assert_int_equal(arm64_compares(0x7104001f, 0x6b01001f), 0);
	assert_int_equal(arm64_comparison((const uint8_t[]){0x1f, 0xbc, 0}, 3), 0);
}

#if defined(__x86_64__)

static void test_x86_64(void **state)
{
	/* cmp al, 47 */
	assert_int_equal(code_operands_comparison((const uint8_t *)"\x3c\x2f\xc3", 3), 47);
	/* sub rsp, 24; cmp byte [rsp+32], 41 */
	assert_int_equal(code_operands_comparison(
				 (const uint8_t *)"\x48\x83\xec\x18\x80\x7c\x24\x20\x29", 9),
			 41);
	/* cmp rsp, [r14+16]: with a register; cmp eax, 40 */
	assert_int_equal(
		code_operands_comparison((const uint8_t *)"\x49\x3b\x66\x10\x83\xf8\x28", 7), 40);
	assert_int_equal(code_operands_comparison((const uint8_t *)"\xc3\x3c", 2), 0);
	assert_int_equal(code_operands_comparison((const uint8_t *)"\x06\x3c\x2f", 3), 0);
}

#endif

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_found),
		cmocka_unit_test(test_odd_tables),
		cmocka_unit_test(test_arm64),
#if defined(__x86_64__)
		cmocka_unit_test(test_x86_64),
#endif
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
