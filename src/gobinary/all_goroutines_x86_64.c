/* SPDX-License-Identifier: Apache-2.0 */
/* Variables in x86-64 code: operands relative to RIP. */
#include "gobinary/all_goroutines_arch.h"

#include <elf.h>

#include <Zydis/Zydis.h>

const uint16_t all_goroutines_arch_machine = EM_X86_64;

size_t all_goroutines_arch_variables(const uint8_t *code, size_t size, uint64_t address,
				     uint64_t *variables, size_t max)
{
	ZydisDecodedInstruction i;
	ZydisDecoder d;
	size_t count = 0;

	if (ZYAN_FAILED(ZydisDecoderInit(&d, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64)) ||
	    ZYAN_FAILED(ZydisDecoderEnableMode(&d, ZYDIS_DECODER_MODE_MINIMAL, ZYAN_TRUE)))
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
