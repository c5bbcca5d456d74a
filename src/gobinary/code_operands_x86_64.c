/* SPDX-License-Identifier: Apache-2.0 */
/* Operands in x86-64 code: variables are named relative to RIP. */
#include "gobinary/code_operands.h"

#include <elf.h>
#include <stdbool.h>

#include <Zydis/Zydis.h>

const uint16_t code_operands_machine = EM_X86_64;

#define COMPARE_AL   0x3c /* with 8 bits */
#define GROUP_1_8    0x80 /* of 8 bits with 8 bits */
#define GROUP_1_SIGN 0x83 /* of more with 8 bits */
#define COMPARE	     7	  /* of group 1 */

static bool decoder_open(ZydisDecoder *d)
{
	return ZYAN_SUCCESS(
		       ZydisDecoderInit(d, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64)) &&
	       ZYAN_SUCCESS(ZydisDecoderEnableMode(d, ZYDIS_DECODER_MODE_MINIMAL, ZYAN_TRUE));
}

size_t code_operands_variables(const uint8_t *code, size_t size, uint64_t address,
			       uint64_t *variables, size_t max)
{
	ZydisDecodedInstruction i;
	ZydisDecoder d;
	size_t count = 0;

	if (!decoder_open(&d))
		return 0;
	for (size_t at = 0; at < size && count < max; at += i.length) {
		if (ZYAN_FAILED(ZydisDecoderDecodeInstruction(&d, NULL, code + at, size - at, &i)))
			break;
		if (i.attributes & ZYDIS_ATTRIB_HAS_MODRM && i.raw.modrm.mod == 0 &&
		    i.raw.modrm.rm == 5)
			variables[count++] = address + at + i.length + (uint64_t)i.raw.disp.value;
	}
	return count;
}

static bool is_comparison(const ZydisDecodedInstruction *i)
{
	if (i->opcode_map != ZYDIS_OPCODE_MAP_DEFAULT)
		return false;
	return i->opcode == COMPARE_AL || ((i->opcode == GROUP_1_8 || i->opcode == GROUP_1_SIGN) &&
					   i->raw.modrm.reg == COMPARE);
}

uint8_t code_operands_comparison(const uint8_t *code, size_t size)
{
	ZydisDecodedInstruction i;
	ZydisDecoder d;

	if (!decoder_open(&d))
		return 0;
	for (size_t at = 0; at < size; at += i.length) {
		if (ZYAN_FAILED(ZydisDecoderDecodeInstruction(&d, NULL, code + at, size - at, &i)))
			break;
		if (is_comparison(&i))
			return (uint8_t)i.raw.imm[0].value.u;
	}
	return 0;
}
