/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Probe sites in the machine code of the build's own architecture. The x86-64 bytes are those of
 * Go 1.26 programs; arm64's own tests are in test_arm64_code.c.
 */
#include <elf.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "go_program.h"
#include "gobinary/block_cache.h"
#include "gobinary/elf_image.h"
#include "gobinary/probe_sites.h"
#include "gobinary/probe_sites_arch.h"
#include "gobinary/tls_offset_arch.h"

#if defined(__x86_64__)

#define AT 0x401000u

struct entry_row {
	const char *code;
	size_t size;
	int err;
	size_t offset;
	bool on_branch;
};

#define ROW(code, err, offset, on_branch)                                                          \
	{                                                                                          \
		code, sizeof(code) - 1, err, offset, on_branch                                     \
	}

static void test_entry(void **state)
{
	const struct entry_row rows[] = {
		/* cmp rsp, [r14+16]; jbe near +7; push rbp; 6 × nop; call morestack */
		ROW("\x49\x3b\x66\x10\x0f\x86\x07\0\0\0\x55\x90\x90\x90\x90\x90\x90\xe8\0\0\0\0", 0,
		    4, true),
		/* the same with a short jump */
		ROW("\x49\x3b\x66\x10\x76\x02\x55\xc3\xe8\0\0\0\0", 0, 4, true),
		/* lea r12, [rsp-0x30]; cmp r12, [r14+16]; jbe; push rbp; ret */
		ROW("\x4c\x8d\x64\x24\xd0\x4d\x3b\x66\x10\x76\x02\x55\xc3\xe8\0\0\0\0", 0, 9, true),
		/* lea r12, [rsp-0x148]; cmp; jbe */
		ROW("\x4c\x8d\xa4\x24\xb8\xfe\xff\xff\x4d\x3b\x66\x10\x76\x02\x55\xc3\xe8\0\0\0\0",
		    0, 12, true),
		/* a frame of more than a guard: mov r12, rsp; sub r12, imm32; jb; cmp; jbe */
		ROW("\x49\x89\xe4\x49\x81\xec\0\0\x10\0\x72\x08\x4d\x3b\x66\x10\x76\x02\x55\xc3"
		    "\xe8\0\0\0\0",
		    0, 16, true),
		/* push rbp without a check */
		ROW("\x55\x48\x89\xe5\xc3", 0, 0, false),
		/* Go 1.16: g not in a register: mov rcx, fs:[-8]; cmp rsp, [rcx+16]; jbe */
		ROW("\x64\x48\x8b\x0c\x25\xf8\xff\xff\xff\x48\x3b\x61\x10\x76\x02\x90\xc3\x90\x90",
		    -ENOENT, 0, false),
		/* another condition (ja), a target past the end, a target before the jump */
		ROW("\x49\x3b\x66\x10\x77\x02\x55\xc3\xe8\0\0\0\0", -ENOENT, 0, false),
		ROW("\x49\x3b\x66\x10\x76\x07\x55\xc3\xe8\0\0\0\0", -ENOENT, 0, false),
		ROW("\x49\x3b\x66\x10\x76\xf0\x55\xc3\xe8\0\0\0\0", -ENOENT, 0, false),
		/* g.stackguard1, and code that is no prologue */
		ROW("\x49\x3b\x66\x18\x76\x02\x55\xc3\xe8\0\0\0\0", -ENOENT, 0, false),
		ROW("\x90\x90\x90\x90\x90\x90\x90\x90\x90\x90\x90", -ENOENT, 0, false),
		ROW("\x49\x3b\x66\x10", -ENOENT, 0, false),
		ROW("\x06", -ENOENT, 0, false),
		ROW("", -ENOENT, 0, false),
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		const struct entry_row *r = &rows[i];
		size_t offset = 0;
		bool on_branch = false;
		int err = probe_arch_find_entry((const uint8_t *)r->code, r->size, &offset,
						&on_branch);

		assert_int_equal(err, r->err);
		if (err)
			continue;
		assert_int_equal(offset, r->offset);
		assert_int_equal(on_branch, r->on_branch);
	}
}

static int find_call(const char *code, size_t size, uint64_t target, size_t *offset)
{
	return probe_arch_find_call((const uint8_t *)code, size, AT, target, offset);
}

static void test_call(void **state)
{
	/* mov rax, imm64 that looks like the call; nop; call +0xfe; call -0x14; ret */
	const char code[] = "\x48\xb8\xe8\xfc\0\0\0\xe8\0\0\x90\xe8\xfe\0\0\0\xe8\xec\xff\xff\xff"
			    "\xc3";
	const char twice[] = "\xe8\x0a\0\0\0\xe8\x05\0\0\0";
	size_t offset = 0;

	assert_int_equal(find_call(code, sizeof(code) - 1, AT + 16 + 0xfe, &offset), 0);
	assert_int_equal(offset, 11);
	assert_int_equal(find_call(code, sizeof(code) - 1, AT + 21 - 0x14, &offset), 0);
	assert_int_equal(offset, 16);
	/* inside the immediate */
	assert_int_equal(find_call(code, sizeof(code) - 1, AT + 7 + 0xfc, &offset), -ENOENT);
	assert_int_equal(find_call(twice, sizeof(twice) - 1, AT + 15, &offset), -ENOENT);
	/* cut in the middle of an instruction, and bytes that are none */
	assert_int_equal(find_call(code, 14, AT + 16 + 0xfe, &offset), -EINVAL);
	assert_int_equal(find_call("\x06\x07", 2, AT, &offset), -EINVAL);
}

static int find_return(const char *code, size_t size, size_t *offset)
{
	return probe_arch_find_return((const uint8_t *)code, size, offset);
}

static void test_return(void **state)
{
	/* add rsp, 0x48; pop rbp; ret; mov eax, 0xc3c3c3c3; int3 */
	const char one[] = "\x48\x83\xc4\x48\x5d\xc3\xb8\xc3\xc3\xc3\xc3\xcc";
	size_t offset = 99;

	assert_int_equal(find_return(one, sizeof(one) - 1, &offset), 0);
	assert_int_equal(offset, 5);
	/* none, two, an instruction cut, bytes that are none */
	assert_int_equal(find_return(one, 5, &offset), -ENOENT);
	assert_int_equal(find_return("\xc3\x90\xc3", 3, &offset), -ENOENT);
	assert_int_equal(find_return(one, 8, &offset), -EINVAL);
	assert_int_equal(find_return("\xc3\x06", 2, &offset), -EINVAL);
}

static int decode(const char *code, size_t size, struct tls_operand *o)
{
	return tls_arch_decode((const uint8_t *)code, size, AT, o);
}

#define DECODE(code, o) decode(code, sizeof(code) - 1, o)

static void test_tls(void **state)
{
	struct tls_operand o;

	/* mov rax, fs:[-8] */
	assert_int_equal(DECODE("\x64\x48\x8b\x04\x25\xf8\xff\xff\xff\x48\x39\x60\x08", &o), 0);
	assert_false(o.in_memory);
	assert_int_equal(o.offset, -8);
	/* static glibc: fs:[-96] */
	assert_int_equal(DECODE("\x64\x48\x8b\x04\x25\xa0\xff\xff\xff", &o), 0);
	assert_int_equal(o.offset, -96);
	/* mov rcx, -1528; mov rax, fs:[rcx] */
	assert_int_equal(DECODE("\x48\xc7\xc1\x08\xfa\xff\xff\x64\x48\x8b\x01", &o), 0);
	assert_false(o.in_memory);
	assert_int_equal(o.offset, -1528);
	/* mov rcx, [rip+0x100]; mov rax, fs:[rcx] */
	assert_int_equal(DECODE("\x48\x8b\x0d\0\x01\0\0\x64\x48\x8b\x01", &o), 0);
	assert_true(o.in_memory);
	assert_int_equal(o.address, AT + 7 + 0x100);
	/* r9 instead: mov r9, [rip-8]; mov rax, fs:[r9] */
	assert_int_equal(DECODE("\x4c\x8b\x0d\xf8\xff\xff\xff\x64\x49\x8b\x01", &o), 0);
	assert_true(o.in_memory);
	assert_int_equal(o.address, AT + 7 - 8);
	/* another register than the one that was loaded; GS; a displacement; something else */
	assert_int_equal(DECODE("\x48\xc7\xc1\xf8\xff\xff\xff\x64\x48\x8b\x02", &o), -ENOENT);
	assert_int_equal(DECODE("\x65\x48\x8b\x04\x25\xf8\xff\xff\xff", &o), -ENOENT);
	assert_int_equal(DECODE("\x48\xc7\xc1\xf8\xff\xff\xff\x64\x48\x8b\x41\x08", &o), -ENOENT);
	assert_int_equal(DECODE("\x55\x48\x89\xe5\xc3", &o), -ENOENT);
	assert_int_equal(DECODE("\x64\x48\x8b", &o), -ENOENT);
	assert_int_equal(DECODE("", &o), -ENOENT);
	assert_int_equal(tls_arch_block_offset((struct elf_tls){8, 8}), -8);
	assert_int_equal(tls_arch_block_offset((struct elf_tls){0x5f4, 64}), -0x600);
	assert_int_equal(tls_arch_block_offset((struct elf_tls){8, 0}), -8);
}

#endif

/* Sites of an image whose functions are these ranges. */
static void find(struct go_image *m, const struct go_function_range *functions,
		 struct go_probe_site *sites)
{
	struct block_cache *cache;
	struct elf_image *image;
	int fd = go_image_file(m);

	assert_int_equal(block_cache_open(1 << 20, &cache), 0);
	assert_int_equal(elf_image_open(fd, cache, &image), 0);
	probe_sites_find(image, functions, sites);
	elf_image_close(image);
	block_cache_close(cache);
	close(fd);
}

/* What is absent, empty, too large, outside the file or of another machine is not present. */
static void test_absent(void **state)
{
	static struct go_image m;
	struct go_function_range functions[FUNCTION_COUNT] = {{0}};
	struct go_probe_site sites[GO_PROBE_KIND_COUNT];

	go_image_open(&m, false);
	memset(sites, 0xff, sizeof(sites));
	find(&m, functions, sites);
	for (size_t i = 0; i < GO_PROBE_KIND_COUNT; i++)
		assert_false(sites[i].present);
	for (size_t i = 0; i < FUNCTION_COUNT; i++)
		functions[i] = (struct go_function_range){GO_IMAGE_TEXT, GO_IMAGE_TEXT + 64};
	functions[FUNCTION_RUNTIME_TRACE].end = GO_IMAGE_TEXT + (1u << 20);
	functions[FUNCTION_NEW_RECORDING].start = GO_IMAGE_END + 64;
	functions[FUNCTION_NEW_RECORDING].end = GO_IMAGE_END + 128;
	find(&m, functions, sites);
	for (size_t i = 0; i < GO_PROBE_KIND_COUNT; i++) {
		assert_false(sites[i].present);
		assert_int_equal(sites[i].address, 0);
		assert_int_equal(sites[i].file_offset, 0);
	}
}

/*
 * The call is probed for what is in registers: not in a function of the stack ABI (Go 1.16 and
 * before), which has no prologue of ours.
 */
static void test_register_abi(void **state)
{
	static struct go_program p;
	struct go_function_range functions[FUNCTION_COUNT] = {{0}};
	struct go_probe_site sites[GO_PROBE_KIND_COUNT];
	uint64_t callee, site, old;

	memset(&p, 0, sizeof(p));
	go_image_open(&p.image, false);
	callee = go_program_add(&p, "callee", 0);
	old = go_program_add(&p, "old", 0);
	go_program_put_call(&p.image, old, callee);
	site = go_program_add_caller(&p, "caller", callee);
	functions[FUNCTION_WITH_VALUE] = (struct go_function_range){callee, callee + 16};
	functions[FUNCTION_RUNQPUT] = functions[FUNCTION_WITH_VALUE];
	functions[FUNCTION_NEWPROC_CLOSURE] = (struct go_function_range){old, old + 16};
	functions[FUNCTION_TRACER_START] = (struct go_function_range){old + 16, site + 16};
	find(&p.image, functions, sites);
	assert_false(sites[GO_PROBE_NEWPROC_RUNQPUT].present);
	assert_true(sites[GO_PROBE_WITH_VALUE].present);
	assert_int_equal(sites[GO_PROBE_WITH_VALUE].address, site);
	assert_false(sites[GO_PROBE_WITH_VALUE].on_branch);
	assert_true(sites[GO_PROBE_TRACER_START_RET].present);
}

static void test_other_machine(void **state)
{
	static struct go_image m;
	struct go_function_range functions[FUNCTION_COUNT] = {{0}};
	struct go_probe_site sites[GO_PROBE_KIND_COUNT];
	const uint16_t machine = EM_RISCV;

	go_image_open(&m, false);
	/* push rbp, a site on x86-64 */
	functions[FUNCTION_RUNTIME_TRACE].start = go_image_add_function(&m, "f", 0, "\x55\xc3", 2);
	functions[FUNCTION_RUNTIME_TRACE].end = functions[FUNCTION_RUNTIME_TRACE].start + 2;
	go_image_put(&m, GO_IMAGE_BASE + offsetof(Elf64_Ehdr, e_machine), &machine, 2);
	find(&m, functions, sites);
	assert_false(sites[GO_PROBE_RUNTIME_TRACE].present);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#if defined(__x86_64__)
		cmocka_unit_test(test_entry),
		cmocka_unit_test(test_call),
		cmocka_unit_test(test_return),
		cmocka_unit_test(test_tls),
#endif
		cmocka_unit_test(test_absent),
		cmocka_unit_test(test_register_abi),
		cmocka_unit_test(test_other_machine),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
