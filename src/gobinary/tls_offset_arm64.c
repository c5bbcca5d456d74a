/* SPDX-License-Identifier: Apache-2.0 */
/*
 * runtime.load_g, behind its test of iscgo: `mrs x0, tpidr_el0`, the offset into x27 by
 * mov/movz/movk or from the GOT by adrp and ldr, `ldr x28, [x0, x27]`. Without cgo g stays in x28.
 */
#include "gobinary/tls_offset_arch.h"

#include <elf.h>
#include <errno.h>

#include "base/bytes.h"
#include "gobinary/arm64_code.h"

const uint16_t tls_arch_machine = EM_AARCH64;
const enum go_function_id tls_arch_function = FUNCTION_LOAD_G;
const uint32_t tls_arch_relocation = R_AARCH64_TLS_TPREL;

#define MRS_X0_TPIDR	 0xd53bd040u
#define LDR_X28_X0_X27	 0xf87b681cu
#define REGISTER_MASK	 0x1fu
#define X27		 27u
#define MOVZ_MASK	 0xff800000u
#define MOVZ		 0xd2800000u
#define MOVK		 0xf2800000u
#define LDR_X27_X27_MASK 0xffc003ffu
#define LDR_X27_X27	 0xf940037bu

int tls_arch_decode(const uint8_t *code, size_t size, uint64_t address, struct tls_operand *out)
{
	struct bytes b = bytes_over(code, size);
	bool thread_pointer = false, known = false;
	uint64_t page = 0;

	*out = (struct tls_operand){0};
	for (uint64_t pc = address; bytes_left(&b) >= 4; pc += 4) {
		uint32_t word = bytes_u32(&b);
		uint64_t immediate = (uint64_t)(word >> 5 & 0xffff) << (word >> 21 & 3) * 16;

		thread_pointer |= word == MRS_X0_TPIDR;
		if (!thread_pointer)
			continue;
		if (word == LDR_X28_X0_X27)
			return known ? 0 : -ENOENT;
		if ((word & LDR_X27_X27_MASK) == LDR_X27_X27 && page) {
			out->in_memory = known = true;
			out->address = page + (word >> 10 & 0xfff) * 8;
		}
		if ((word & REGISTER_MASK) != X27)
			continue;
		if ((word & MOVZ_MASK) == MOVZ) {
			out->offset = (int64_t)immediate;
			known = true;
		} else if ((word & MOVZ_MASK) == MOVK) {
			out->offset |= (int64_t)immediate;
		} else if ((word & ADRP_MASK) == ADRP) {
			page = page_of(word, pc);
		}
	}
	return -ENOENT;
}

/* Variant I: the block follows the 16 bytes at the thread pointer. */
int64_t tls_arch_block_offset(struct elf_tls tls)
{
	uint64_t alignment = tls.alignment && tls.alignment <= 4096 ? tls.alignment : 1;

	return (int64_t)((16 + alignment - 1) / alignment * alignment);
}
