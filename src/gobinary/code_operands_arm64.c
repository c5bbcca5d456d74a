/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Operands in arm64 code. Variables: `adrp` gives a page, then `add`, or the load or store itself,
 * the place in it. Pairs of words are two variables.
 */
#include "gobinary/code_operands.h"

#include <elf.h>
#include <stdbool.h>

#include "base/bytes.h"
#include "gobinary/arm64_code.h"

const uint16_t code_operands_machine = EM_AARCH64;

#define ADD_MASK      0xffc00000u /* 64 bits, immediate not shifted */
#define ADD	      0x91000000u
#define WORD_MASK     0xff800000u /* ldr and str of 64 bits, immediate offset */
#define WORD	      0xf9000000u
#define PAIR_MASK     0xff800000u /* ldp and stp of 64 bits, immediate offset */
#define PAIR	      0xa9000000u
#define LOAD	      0x00400000u /* in both */
#define BL_MASK	      0xfc000000u
#define BL	      0x94000000u
#define ZERO_REGISTER 31u	  /* or SP: holds no variable's address */
#define COMPARE_MASK  0x7fc0001fu /* either width, immediate not shifted */
#define COMPARE	      0x7100001fu

/* What a register holds, when it is the address of a variable or of its page. */
struct registers {
	bool known[32];
	uint64_t value[32];
};

static void set(struct registers *r, uint32_t to, bool known, uint64_t value)
{
	r->known[to] = known && to != ZERO_REGISTER;
	r->value[to] = value;
}

/* Follows one instruction; returns the number of variables it names, at most two. */
static size_t step(struct registers *r, uint32_t word, uint64_t pc, uint64_t named[2])
{
	uint32_t to = word & 31, base = word >> 5 & 31, second = word >> 10 & 31;
	uint64_t immediate = word >> 10 & 0xfff, pair = (word >> 15 & 0x7f) ^ 0x40;
	bool known = r->known[base];

	if ((word & ADRP_MASK) == ADRP) {
		set(r, to, true, page_of(word, pc));
		return 0;
	}
	if ((word & ADD_MASK) == ADD) {
		named[0] = r->value[base] + immediate;
		set(r, to, known, named[0]);
		return known;
	}
	if ((word & WORD_MASK) == WORD) {
		named[0] = r->value[base] + immediate * 8;
		if (word & LOAD)
			set(r, to, false, 0);
		return known;
	}
	if ((word & PAIR_MASK) == PAIR) {
		named[0] = r->value[base] + (pair - 0x40) * 8;
		named[1] = named[0] + 8;
		if (word & LOAD) {
			set(r, to, false, 0);
			set(r, second, false, 0);
		}
		return known ? 2 : 0;
	}
	/* A call leaves nothing as it was. */
	if ((word & BL_MASK) == BL)
		*r = (struct registers){0};
	return 0;
}

size_t code_operands_variables(const uint8_t *code, size_t size, uint64_t address,
			       uint64_t *variables, size_t max)
{
	struct bytes b = bytes_over(code, size);
	struct registers registers = {0};
	size_t count = 0;

	for (uint64_t pc = address; bytes_left(&b) >= 4; pc += 4) {
		uint64_t named[2];
		size_t n = step(&registers, bytes_u32(&b), pc, named);

		for (size_t i = 0; i < n && count < max; i++)
			variables[count++] = named[i];
	}
	return count;
}

uint8_t code_operands_comparison(const uint8_t *code, size_t size)
{
	struct bytes b = bytes_over(code, size);

	while (bytes_left(&b) >= 4) {
		uint32_t word = bytes_u32(&b), number = word >> 10 & 0xfff;

		if ((word & COMPARE_MASK) == COMPARE && number < 256)
			return (uint8_t)number;
	}
	return 0;
}
