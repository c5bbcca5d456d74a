/* SPDX-License-Identifier: Apache-2.0 */
/* Where probes may sit in one executable, each verified by its bytes. */
#ifndef GOBINARY_PROBE_SITES_H
#define GOBINARY_PROBE_SITES_H

#include "gobinary/go_functions.h"
#include "gobinary/gobinary.h"

struct elf_image;

/* Never fails: what is not found, or not as expected, is not present. */
void probe_sites_find(struct elf_image *image,
		      const struct go_function_range functions[FUNCTION_COUNT],
		      struct go_probe_site sites[GO_PROBE_KIND_COUNT]);

#endif
