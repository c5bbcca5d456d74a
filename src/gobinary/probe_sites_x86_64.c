/* SPDX-License-Identifier: Apache-2.0 */
/* Stack checks and calls in x86-64 code; the lengths come from Zydis. */
#include "gobinary/probe_sites_arch.h"

#include <elf.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include <Zydis/Zydis.h>

const uint16_t probe_arch_machine = EM_X86_64;

/* A large frame takes `mov r12, rsp; sub r12, imm32; jb` before the compare. */
#define PROLOGUE_INSTRUCTIONS 5
#define PUSH_RBP	      0x55
#define RET		      0xc3

static bool decoder_open(ZydisDecoder *d)
{
	return ZYAN_SUCCESS(
		       ZydisDecoderInit(d, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64)) &&
	       ZYAN_SUCCESS(ZydisDecoderEnableMode(d, ZYDIS_DECODER_MODE_MINIMAL, ZYAN_TRUE));
}

static bool decode(const ZydisDecoder *d, const uint8_t *code, size_t size, size_t at,
		   ZydisDecodedInstruction *i)
{
	return at < size &&
	       ZYAN_SUCCESS(ZydisDecoderDecodeInstruction(d, NULL, code + at, size - at, i));
}

/* cmp rsp or r12, [r14 + 16]: g.stackguard0, with g in r14 since the register ABI. */
static bool is_guard_compare(const uint8_t *code, size_t length)
{
	return length == 4 && (code[0] == 0x49 || code[0] == 0x4d) &&
	       !memcmp(code + 1, "\x3b\x66\x10", 3);
}

static bool is_jump_below_equal(const ZydisDecodedInstruction *i)
{
	return (i->opcode_map == ZYDIS_OPCODE_MAP_DEFAULT && i->opcode == 0x76) ||
	       (i->opcode_map == ZYDIS_OPCODE_MAP_0F && i->opcode == 0x86);
}

/* `at` lies behind the compare. morestack is called at the function's own end. */
static int check_jump(const ZydisDecoder *d, const uint8_t *code, size_t size, size_t at)
{
	ZydisDecodedInstruction i;

	if (!decode(d, code, size, at, &i) || !is_jump_below_equal(&i) ||
	    i.raw.imm[0].value.s < 0 || (uint64_t)i.raw.imm[0].value.s >= size - at - i.length)
		return -ENOENT;
	return 0;
}

int probe_arch_find_entry(const uint8_t *code, size_t size, size_t *offset, bool *on_branch)
{
	ZydisDecodedInstruction i;
	ZydisDecoder d;
	size_t at = 0;

	if (!decoder_open(&d))
		return -EINVAL;
	if (size && code[0] == PUSH_RBP) {
		*offset = 0;
		*on_branch = false;
		return 0;
	}
	for (int n = 0; n < PROLOGUE_INSTRUCTIONS && decode(&d, code, size, at, &i); n++) {
		bool compared = is_guard_compare(code + at, i.length);

		at += i.length;
		if (!compared)
			continue;
		*offset = at;
		*on_branch = true;
		return check_jump(&d, code, size, at);
	}
	return -ENOENT;
}

int probe_arch_find_call(const uint8_t *code, size_t size, uint64_t address, uint64_t target,
			 size_t *offset)
{
	ZydisDecodedInstruction i;
	ZydisDecoder d;
	size_t found = 0;

	if (!decoder_open(&d))
		return -EINVAL;
	for (size_t at = 0; at < size; at += i.length) {
		if (!decode(&d, code, size, at, &i))
			return -EINVAL;
		if (i.opcode_map != ZYDIS_OPCODE_MAP_DEFAULT || i.opcode != 0xe8 || i.length != 5 ||
		    address + at + 5 + (uint64_t)i.raw.imm[0].value.s != target)
			continue;
		if (found++)
			return -ENOENT;
		*offset = at;
	}
	return found ? 0 : -ENOENT;
}

int probe_arch_find_return(const uint8_t *code, size_t size, size_t *offset)
{
	ZydisDecodedInstruction i;
	ZydisDecoder d;
	size_t found = 0;

	if (!decoder_open(&d))
		return -EINVAL;
	for (size_t at = 0; at < size; at += i.length) {
		if (!decode(&d, code, size, at, &i))
			return -EINVAL;
		if (i.opcode_map != ZYDIS_OPCODE_MAP_DEFAULT || i.opcode != RET)
			continue;
		if (found++)
			return -ENOENT;
		*offset = at;
	}
	return found ? 0 : -ENOENT;
}
