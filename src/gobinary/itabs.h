/* SPDX-License-Identifier: Apache-2.0 */
/* Which of the linker's interface tables are those of spans and contexts. */
#ifndef GOBINARY_ITABS_H
#define GOBINARY_ITABS_H

#include <stdint.h>

#include "gobinary/gobinary.h"

struct elf_image;
struct moduledata;

/*
 * Tables whose type is `span` (a pointer's), and those of package context's own types whose
 * interface is `context`; 0 stands for a type not found. Tables that the runtime makes while the
 * program runs are not among them. Never fails; at a cap the rest is left out.
 */
void itabs_find(struct elf_image *image, const struct moduledata *module, uint64_t span,
		uint64_t context, struct go_itabs *out);

#endif
