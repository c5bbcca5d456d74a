/* SPDX-License-Identifier: Apache-2.0 */
/* What the decoders of arm64 code share. */
#ifndef GOBINARY_ARM64_CODE_H
#define GOBINARY_ARM64_CODE_H

#include <stdint.h>

#define ADRP_MASK 0x9f000000u
#define ADRP	  0x90000000u

/* The page whose address an `adrp` at `pc` gives: 21 bits of pages, signed. */
static inline uint64_t page_of(uint32_t word, uint64_t pc)
{
	uint64_t pages = (uint64_t)(word >> 5 & 0x7ffff) << 2 | (word >> 29 & 3);

	return (pc & ~0xfffull) + (((pages ^ 0x100000) - 0x100000) << 12);
}

#endif
