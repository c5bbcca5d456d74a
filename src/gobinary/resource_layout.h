/* SPDX-License-Identifier: Apache-2.0 */
/* The way from one of the SDK's spans to the resource attributes that its traces carry. */
#ifndef GOBINARY_RESOURCE_LAYOUT_H
#define GOBINARY_RESOURCE_LAYOUT_H

#include <stdint.h>

#include "gobinary/gobinary.h"

struct elf_image;
struct moduledata;

#define RESOURCE_LAYOUT_PAIR_NAME    "attribute.KeyValue"
#define RESOURCE_LAYOUT_PAIR_PACKAGE "go.opentelemetry.io/otel/attribute"

/*
 * From the descriptors of trace.recordingSpan and attribute.KeyValue (0: not found). Never fails:
 * where a step is not found, or is not what its name says, all of `out` is 0.
 */
void resource_layout_find(struct elf_image *image, const struct moduledata *module,
			  uint64_t span_type, uint64_t pair_type, struct go_resource_layout *out);

#endif
