/* SPDX-License-Identifier: Apache-2.0 */
/*
 * runtime.waitReason.String compares with the number of reasons and reads one of a row of strings.
 * The row is known by how it begins. See wait_reasons.h.
 */
#include "gobinary/wait_reasons.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "gobinary/code_operands.h"
#include "gobinary/elf_image.h"
#include "gobinary/moduledata.h"

#define MAX_CODE_BYTES 256 /* it takes 40, 100 in a build that is not optimised */
#define MAX_VARIABLES  16
#define HEADER_WORDS   2 /* of a string: pointer, length */

/* In every version from Go 1.11. */
static const char *const first[] = {"", "GC assist marking", "IO wait"};
#define FIRST_COUNT (sizeof(first) / sizeof(*first))

static bool read_name(struct elf_image *image, uint64_t at, char name[WAIT_REASON_SIZE])
{
	uint64_t header[HEADER_WORDS];

	if (elf_image_read_words(image, at, header, HEADER_WORDS) || header[1] >= WAIT_REASON_SIZE)
		return false;
	if (header[1] && elf_image_read(image, header[0], name, header[1]))
		return false;
	name[header[1]] = '\0';
	for (size_t i = 0; i < header[1]; i++)
		if (name[i] < ' ' || name[i] > '~')
			return false;
	return true;
}

static bool read_names(struct elf_image *image, const struct moduledata *module, uint64_t at,
		       struct wait_reasons *out)
{
	if (at & 7 || at < module->data || at >= module->ebss ||
	    module->ebss - at < out->count * HEADER_WORDS * sizeof(uint64_t))
		return false;
	for (size_t i = 0; i < out->count; i++) {
		if (!read_name(image, at + i * HEADER_WORDS * sizeof(uint64_t), out->names[i]))
			return false;
		if (i < FIRST_COUNT ? strcmp(out->names[i], first[i]) != 0 : !out->names[i][0])
			return false;
	}
	return true;
}

void wait_reasons_find(struct elf_image *image, const struct moduledata *module,
		       const struct go_function_range functions[FUNCTION_COUNT],
		       struct wait_reasons *out)
{
	const struct go_function_range *f = &functions[FUNCTION_WAIT_REASON];
	uint64_t size = f->end - f->start, variables[MAX_VARIABLES];
	uint8_t code[MAX_CODE_BYTES];
	size_t count;

	*out = (struct wait_reasons){0};
	if (!f->start || elf_image_machine(image) != code_operands_machine)
		return;
	if (size > sizeof(code))
		size = sizeof(code);
	if (elf_image_read(image, f->start, code, size))
		return;
	out->count = code_operands_comparison(code, size);
	if (out->count < FIRST_COUNT || out->count > WAIT_REASONS_MAX) {
		out->count = 0;
		return;
	}
	out->names = calloc(out->count, sizeof(*out->names));
	count = code_operands_variables(code, size, f->start, variables, MAX_VARIABLES);
	for (size_t i = 0; i < count && out->names; i++)
		if (read_names(image, module, variables[i], out))
			return;
	free(out->names);
	*out = (struct wait_reasons){0};
}
