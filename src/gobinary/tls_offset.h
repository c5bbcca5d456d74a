/* SPDX-License-Identifier: Apache-2.0 */
/* Where the current g lies, from the thread pointer: decoded from the runtime's own code. */
#ifndef GOBINARY_TLS_OFFSET_H
#define GOBINARY_TLS_OFFSET_H

#include <stdint.h>

#include "gobinary/go_functions.h"

struct elf_image;

/* -ENOENT: no code that tells, of another machine, or not as the toolchains write it. */
int tls_offset_find(struct elf_image *image,
		    const struct go_function_range functions[FUNCTION_COUNT], int32_t *offset);

#endif
