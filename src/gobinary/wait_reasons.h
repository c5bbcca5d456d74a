/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Why goroutines wait, in the runtime's own words. The numbers behind them change with every other
 * version, so they are read from the executable: from the table that the runtime prints them from.
 */
#ifndef GOBINARY_WAIT_REASONS_H
#define GOBINARY_WAIT_REASONS_H

#include <stddef.h>
#include <stdint.h>

#include "gobinary/go_functions.h"

struct elf_image;
struct moduledata;

#define WAIT_REASONS_MAX 128 /* Go 1.27 has some 50 */
#define WAIT_REASON_SIZE 48  /* with the end mark; the longest has 30 */

struct wait_reasons {
	size_t count; /* 0: not found */
	char (*names)[WAIT_REASON_SIZE];
};

/* The caller frees `names`. Where anything does not look as it should there are none. */
void wait_reasons_find(struct elf_image *image, const struct moduledata *module,
		       const struct go_function_range functions[FUNCTION_COUNT],
		       struct wait_reasons *out);

#endif
