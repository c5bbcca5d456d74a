/* SPDX-License-Identifier: Apache-2.0 */
/*
 * runtime.allgadd appends to runtime.allgs: of the variables it touches, three adjoining words are
 * the slice's pointer, length and capacity. See all_goroutines.h.
 */
#include "gobinary/all_goroutines.h"

#include <stdbool.h>

#include "gobinary/code_operands.h"
#include "gobinary/elf_image.h"
#include "gobinary/moduledata.h"

/* It takes some 300 bytes, 500 in a build that is not optimised, and names some 20 variables. */
#define MAX_CODE_BYTES 1024
#define MAX_VARIABLES  64

static bool has(const uint64_t *variables, size_t count, uint64_t address)
{
	for (size_t i = 0; i < count; i++)
		if (variables[i] == address)
			return true;
	return false;
}

uint64_t all_goroutines_find(struct elf_image *image, const struct moduledata *module,
			     const struct go_function_range functions[FUNCTION_COUNT])
{
	const struct go_function_range *f = &functions[FUNCTION_ALLGADD];
	uint64_t size = f->end - f->start, found = 0;
	uint64_t variables[MAX_VARIABLES];
	uint8_t code[MAX_CODE_BYTES];
	size_t count;

	if (!f->start || elf_image_machine(image) != code_operands_machine)
		return 0;
	if (size > sizeof(code))
		size = sizeof(code);
	if (elf_image_read(image, f->start, code, size))
		return 0;
	count = code_operands_variables(code, size, f->start, variables, MAX_VARIABLES);
	for (size_t i = 0; i < count; i++) {
		uint64_t at = variables[i];

		if (at & 7 || at < module->data || at >= module->ebss || module->ebss - at < 24 ||
		    !has(variables, count, at + 8) || !has(variables, count, at + 16))
			continue;
		/* Four words in a row: which three they are is a guess. */
		if (found && found != at)
			return 0;
		found = at;
	}
	return found;
}
