/* SPDX-License-Identifier: Apache-2.0 */
/* Where the runtime keeps its slice of all goroutines: decoded from the code that appends to it. */
#ifndef GOBINARY_ALL_GOROUTINES_H
#define GOBINARY_ALL_GOROUTINES_H

#include <stdint.h>

#include "gobinary/go_functions.h"

struct elf_image;
struct moduledata;

/* Address of runtime.allgs; 0 when the code does not tell, or not without doubt. */
uint64_t all_goroutines_find(struct elf_image *image, const struct moduledata *module,
			     const struct go_function_range functions[FUNCTION_COUNT]);

#endif
