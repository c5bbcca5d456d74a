/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The arm64 decoders, on whatever machine the tests run: they are compiled in here under other
 * names. The words are those of Go 1.26 for linux/arm64.
 */
#define probe_arch_machine     arm64_machine
#define probe_arch_find_entry  arm64_find_entry
#define probe_arch_find_call   arm64_find_call
#define probe_arch_find_return arm64_find_return
#define tls_arch_machine       arm64_tls_machine
#define tls_arch_function      arm64_tls_function
#define tls_arch_relocation    arm64_tls_relocation
#define tls_arch_decode	       arm64_tls_decode
#define tls_arch_block_offset  arm64_tls_block_offset

#include <elf.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "../../src/gobinary/probe_sites_arm64.c"
#include "../../src/gobinary/tls_offset_arm64.c"

#define AT 0x100000u

static int find_entry(const uint32_t *words, size_t size, size_t *offset)
{
	bool on_branch = false;
	int err = arm64_find_entry((const uint8_t *)words, size, offset, &on_branch);

	assert_true(err || on_branch);
	return err;
}

static void test_stack_check(void **state)
{
	/* ldr x16, [x28, 16]; cmp sp, x16; b.ls +12; str; ret; b */
	const uint32_t small[] = {0xf9400b90, 0xeb3063ff, 0x54000069,
				  0xf81d0ffe, 0xd65f03c0, 0x17fffff9};
	/* ldr; sub x17, sp, 0x140; cmp x17, x16; b.ls +12; str; ret */
	const uint32_t large[] = {0xf9400b90, 0xd10503f1, 0xeb10023f, 0x54000069,
				  0xf81d0ffe, 0xd65f03c0, 0x17fffff9};
	const uint32_t other_condition[] = {0xf9400b90, 0xeb3063ff, 0x5400008a, 0, 0, 0, 0, 0};
	const uint32_t backwards[] = {0xf9400b90, 0xeb3063ff, 0x54ffffe9, 0, 0, 0, 0, 0};
	const uint32_t nosplit[] = {0xf81d0ffe, 0xf81f83fd, 0xd10023fd, 0xd65f03c0, 0, 0, 0, 0};
	size_t offset = 0;

	assert_int_equal(find_entry(small, sizeof(small), &offset), 0);
	assert_int_equal(offset, 8);
	assert_int_equal(find_entry(large, sizeof(large), &offset), 0);
	assert_int_equal(offset, 12);
	/* the target would lie past the function's end */
	assert_int_equal(find_entry(small, sizeof(small) - 4, &offset), -ENOENT);
	assert_int_equal(find_entry(small, 8, &offset), -ENOENT);
	assert_int_equal(find_entry(other_condition, sizeof(other_condition), &offset), -ENOENT);
	assert_int_equal(find_entry(backwards, sizeof(backwards), &offset), -ENOENT);
	assert_int_equal(find_entry(nosplit, sizeof(nosplit), &offset), -ENOENT);
}

static void test_call(void **state)
{
	/* bl +72; nop; bl -4 ; b +8 */
	const uint32_t code[] = {0x94000012, 0xd503201f, 0x97ffffff, 0x14000002};
	const uint32_t twice[] = {0x94000012, 0x94000011};
	const uint8_t *bytes = (const uint8_t *)code;
	size_t offset = 99;

	assert_int_equal(arm64_find_call(bytes, sizeof(code), AT, AT + 72, &offset), 0);
	assert_int_equal(offset, 0);
	assert_int_equal(arm64_find_call(bytes, sizeof(code), AT, AT + 4, &offset), 0);
	assert_int_equal(offset, 8);
	/* a branch without link is no call */
	assert_int_equal(arm64_find_call(bytes, sizeof(code), AT, AT + 20, &offset), -ENOENT);
	assert_int_equal(
		arm64_find_call((const uint8_t *)twice, sizeof(twice), AT, AT + 72, &offset),
		-ENOENT);
}

static void test_return(void **state)
{
	/* ldr x29, [sp, -8]; ldr x30, [sp], 96; ret; br x30; ret x1 */
	const uint32_t one[] = {0xf85f83fd, 0xf84607fe, 0xd65f03c0, 0xd61f03c0, 0xd65f0020};
	const uint32_t two[] = {0xd65f03c0, 0xd503201f, 0xd65f03c0};
	const uint8_t *code = (const uint8_t *)one, *twice = (const uint8_t *)two;
	size_t offset = 99;

	assert_int_equal(arm64_find_return(code, sizeof(one), &offset), 0);
	assert_int_equal(offset, 8);
	assert_int_equal(arm64_find_return(code, 11, &offset), -ENOENT);
	assert_int_equal(arm64_find_return(twice, sizeof(two), &offset), -ENOENT);
	assert_int_equal(arm64_find_return(twice, 8, &offset), 0);
	assert_int_equal(offset, 0);
	assert_int_equal(arm64_find_return(twice, 0, &offset), -ENOENT);
}

static int tls(const uint32_t *words, size_t size, struct tls_operand *out)
{
	return arm64_tls_decode((const uint8_t *)words, size, AT, out);
}

static void test_tls(void **state)
{
	/* adrp; ldrsb; cbz; mrs x0, tpidr_el0; mov x27, 16; ldr x28, [x0, x27]; ret */
	const uint32_t fixed[] = {0xd0001f5b, 0x3983db60, 0xb4000080, 0xd53bd040,
				  0xd280021b, 0xf87b681c, 0xd65f03c0};
	/* the same by movz, lsl 16 and movk */
	const uint32_t halves[] = {0xd53bd040, 0xd2a0003b, 0xf280021b, 0xf87b681c, 0xd65f03c0};
	/* the same by adrp x27, +0x47e000; ldr x27, [x27, 0xf8] */
	const uint32_t got[] = {0xd53bd040, 0xd00023db, 0xf9407f7b, 0xf87b681c, 0xd65f03c0};
	const uint32_t nothing[] = {0xd53bd040, 0xf87b681c, 0xd65f03c0};
	const uint32_t before[] = {0xd280021b, 0xd65f03c0};
	struct tls_operand o;

	assert_int_equal(tls(fixed, sizeof(fixed), &o), 0);
	assert_false(o.in_memory);
	assert_int_equal(o.offset, 16);
	assert_int_equal(tls(halves, sizeof(halves), &o), 0);
	assert_int_equal(o.offset, 0x10010);
	assert_int_equal(tls(got, sizeof(got), &o), 0);
	assert_true(o.in_memory);
	assert_int_equal(o.address, AT + 0x47a000 + 0xf8);
	assert_int_equal(tls(nothing, sizeof(nothing), &o), -ENOENT);
	assert_int_equal(tls(before, sizeof(before), &o), -ENOENT);
	assert_int_equal(tls(fixed, 12, &o), -ENOENT);
}

static void test_page(void **state)
{
	/* adrp x27, -0x1000 and +0 */
	assert_int_equal(page_of(0xf0fffffb, 0x5123), 0x4000);
	assert_int_equal(page_of(0x9000001b, 0x5123), 0x5000);
	assert_int_equal(arm64_tls_block_offset((struct elf_tls){8, 8}), 16);
	assert_int_equal(arm64_tls_block_offset((struct elf_tls){8, 64}), 64);
	assert_int_equal(arm64_machine, EM_AARCH64);
	assert_int_equal(arm64_tls_machine, EM_AARCH64);
	assert_int_equal(arm64_tls_relocation, R_AARCH64_TLS_TPREL);
	assert_int_equal(arm64_tls_function, FUNCTION_LOAD_G);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_stack_check), cmocka_unit_test(test_call),
		cmocka_unit_test(test_return),	    cmocka_unit_test(test_tls),
		cmocka_unit_test(test_page),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
