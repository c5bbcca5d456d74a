/* SPDX-License-Identifier: Apache-2.0 */
/* Where runtime.g and runtime.m keep what spanprof reads. */
#ifndef GOBINARY_RUNTIME_LAYOUT_H
#define GOBINARY_RUNTIME_LAYOUT_H

#include <stdint.h>

#include "gobinary/gobinary.h"

struct elf_image;

/*
 * From the descriptors of runtime.g and runtime.m (0: not found), else from the built-in table by
 * version, else its newest row. Never fails; `out->source` says which.
 */
void runtime_layout_find(struct elf_image *image, uint64_t g_type, uint64_t m_type,
			 const char *go_version, struct go_runtime_offsets *out);

#endif
