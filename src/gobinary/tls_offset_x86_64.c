/* SPDX-License-Identifier: Apache-2.0 */
/*
 * runtime.stackcheck begins with the load of g: `mov rax, fs:[-8]`, or `mov rcx, -8` (a PIE, as
 * the linker relaxed it) or `mov rcx, [rip + got]` before `mov rax, fs:[rcx]`.
 */
#include "gobinary/tls_offset_arch.h"

#include <elf.h>
#include <errno.h>
#include <stdbool.h>

#include <Zydis/Zydis.h>

const uint16_t tls_arch_machine = EM_X86_64;
const enum go_function_id tls_arch_function = FUNCTION_STACKCHECK;
const uint32_t tls_arch_relocation = R_X86_64_TPOFF64;

#define MAX_INSTRUCTIONS 6
#define REGISTERS	 16
#define PREFIX_FS	 0x64

static bool has_fs(const ZydisDecodedInstruction *i)
{
	for (size_t p = 0; p < i->raw.prefix_count; p++)
		if (i->raw.prefixes[p].value == PREFIX_FS)
			return true;
	return false;
}

/* What a load through FS adds to the thread pointer, given what the registers hold. */
static int take_fs_load(const ZydisDecodedInstruction *i, const struct tls_operand *registers,
			const bool *known, struct tls_operand *out)
{
	uint8_t base = i->raw.modrm.rm | (uint8_t)(i->raw.rex.B << 3);

	if (i->raw.modrm.mod == 0 && i->raw.modrm.rm == 4 && i->raw.sib.base == 5 &&
	    i->raw.sib.index == 4 && !i->raw.rex.X) {
		*out = (struct tls_operand){.offset = i->raw.disp.value};
		return 0;
	}
	/* Through a register only without displacement: [rbp] and [r13] cannot be written so. */
	if (i->raw.modrm.mod != 0 || i->raw.modrm.rm == 4 || i->raw.modrm.rm == 5 || !known[base])
		return -ENOENT;
	*out = registers[base];
	return 0;
}

int tls_arch_decode(const uint8_t *code, size_t size, uint64_t address, struct tls_operand *out)
{
	struct tls_operand registers[REGISTERS];
	bool known[REGISTERS] = {false};
	ZydisDecodedInstruction i;
	ZydisDecoder d;
	size_t at = 0;

	if (ZYAN_FAILED(ZydisDecoderInit(&d, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64)) ||
	    ZYAN_FAILED(ZydisDecoderEnableMode(&d, ZYDIS_DECODER_MODE_MINIMAL, ZYAN_TRUE)))
		return -ENOENT;
	for (int n = 0; n < MAX_INSTRUCTIONS && at < size; n++) {
		uint8_t to;

		if (ZYAN_FAILED(
			    ZydisDecoderDecodeInstruction(&d, NULL, code + at, size - at, &i)) ||
		    i.opcode_map != ZYDIS_OPCODE_MAP_DEFAULT || !i.raw.rex.W)
			return -ENOENT;
		at += i.length;
		if (i.opcode == 0x8b && has_fs(&i))
			return take_fs_load(&i, registers, known, out);
		to = i.raw.modrm.reg | (uint8_t)(i.raw.rex.R << 3);
		if (i.opcode == 0xc7 && i.raw.modrm.mod == 3) {
			to = i.raw.modrm.rm | (uint8_t)(i.raw.rex.B << 3);
			registers[to] = (struct tls_operand){.offset = i.raw.imm[0].value.s};
		} else if (i.opcode == 0x8b && i.raw.modrm.mod == 0 && i.raw.modrm.rm == 5) {
			registers[to] = (struct tls_operand){
				.in_memory = true,
				.address = address + at + (uint64_t)i.raw.disp.value,
			};
		} else {
			return -ENOENT;
		}
		known[to] = true;
	}
	return -ENOENT;
}

/* Variant II: the block ends at the thread pointer. */
int64_t tls_arch_block_offset(struct elf_tls tls)
{
	uint64_t alignment = tls.alignment && tls.alignment <= 4096 ? tls.alignment : 1;

	return -(int64_t)((tls.memory_size + alignment - 1) / alignment * alignment);
}
