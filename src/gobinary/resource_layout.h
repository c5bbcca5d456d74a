/* SPDX-License-Identifier: Apache-2.0 */
/* The way from one of the SDK's spans to the resource attributes that its traces carry. */
#ifndef GOBINARY_RESOURCE_LAYOUT_H
#define GOBINARY_RESOURCE_LAYOUT_H

#include <stdint.h>

#include "gobinary/go_functions.h"
#include "gobinary/gobinary.h"

struct elf_image;
struct moduledata;

#define RESOURCE_LAYOUT_PAIR_NAME      "attribute.KeyValue"
#define RESOURCE_LAYOUT_PAIR_PACKAGE   "go.opentelemetry.io/otel/attribute"
#define RESOURCE_LAYOUT_HOLDER_NAME    "global.tracerProviderHolder"
#define RESOURCE_LAYOUT_HOLDER_PACKAGE "go.opentelemetry.io/otel/internal/global"

/* Descriptors of trace.recordingSpan and of the two named above; 0: not found. */
struct resource_layout_types {
	uint64_t span, pair, holder;
};

/*
 * Never fails: where a step is not found, or is not what its name says, all of `out` is 0. The
 * holder is needed for globals alone.
 */
void resource_layout_find(struct elf_image *image, const struct moduledata *module,
			  const struct resource_layout_types *types,
			  struct go_resource_layout *out);
/*
 * Adds where the provider of a program lies that has set one for all: by the variables that the
 * code names which sets it.
 */
void resource_layout_find_globals(struct elf_image *image, const struct moduledata *module,
				  const struct go_function_range functions[FUNCTION_COUNT],
				  struct go_resource_layout *out);

#endif
