/* SPDX-License-Identifier: Apache-2.0 */
/* Stack checks and calls in arm64 code: every instruction is one little-endian word. */
#include "gobinary/probe_sites_arch.h"

#include <elf.h>
#include <errno.h>
#include <stdbool.h>

#include "base/bytes.h"

const uint16_t probe_arch_machine = EM_AARCH64;

/* A large frame takes `mov, movk, sub, b.lo` or the like before the compare. */
#define PROLOGUE_INSTRUCTIONS 8

#define LDR_X16_X28_16 0xf9400b90u /* g.stackguard0, with g in x28 */
#define CMP_SP_X16     0xeb3063ffu
#define CMP_X17_X16    0xeb10023fu
#define B_COND_MASK    0xff00001fu
#define B_LS	       0x54000009u
#define BL_MASK	       0xfc000000u
#define BL	       0x94000000u
#define RET	       0xd65f03c0u

static int64_t sign_extend(uint32_t value, int bits)
{
	return (int64_t)((uint64_t)value << (64 - bits)) >> (64 - bits);
}

int probe_arch_find_entry(const uint8_t *code, size_t size, size_t *offset, bool *on_branch)
{
	struct bytes b = bytes_over(code, size);
	bool guard = false, compared = false;

	for (size_t n = 0; n < PROLOGUE_INSTRUCTIONS; n++) {
		uint32_t word = bytes_u32(&b);

		if (b.failed)
			return -ENOENT;
		if (compared) {
			int64_t jump = sign_extend(word >> 5 & 0x7ffff, 19) * 4;

			/* morestack is called at the function's own end. */
			if ((word & B_COND_MASK) != B_LS || jump <= 0 ||
			    (uint64_t)jump >= size - 4 * n)
				return -ENOENT;
			*offset = 4 * n;
			*on_branch = true;
			return 0;
		}
		guard |= word == LDR_X16_X28_16;
		compared = guard && (word == CMP_SP_X16 || word == CMP_X17_X16);
	}
	return -ENOENT;
}

int probe_arch_find_call(const uint8_t *code, size_t size, uint64_t address, uint64_t target,
			 size_t *offset)
{
	struct bytes b = bytes_over(code, size);
	size_t found = 0;

	for (size_t at = 0; bytes_left(&b) >= 4; at += 4) {
		uint32_t word = bytes_u32(&b);
		int64_t jump = sign_extend(word & ~BL_MASK, 26) * 4;

		if ((word & BL_MASK) != BL || address + at + (uint64_t)jump != target)
			continue;
		if (found++)
			return -ENOENT;
		*offset = at;
	}
	return found ? 0 : -ENOENT;
}

int probe_arch_find_return(const uint8_t *code, size_t size, size_t *offset)
{
	struct bytes b = bytes_over(code, size);
	size_t found = 0;

	for (size_t at = 0; bytes_left(&b) >= 4; at += 4) {
		if (bytes_u32(&b) != RET)
			continue;
		if (found++)
			return -ENOENT;
		*offset = at;
	}
	return found ? 0 : -ENOENT;
}
