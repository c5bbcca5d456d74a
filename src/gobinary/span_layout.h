/* SPDX-License-Identifier: Apache-2.0 */
/* Where the OpenTelemetry SDK's spans keep what spanprof reads. */
#ifndef GOBINARY_SPAN_LAYOUT_H
#define GOBINARY_SPAN_LAYOUT_H

#include <stdint.h>

#include "gobinary/gobinary.h"

struct elf_image;

#define SPAN_LAYOUT_PACKAGE "go.opentelemetry.io/otel/sdk/trace"

/*
 * From the descriptors of trace.recordingSpan and trace.nonRecordingSpan (0: not found), else from
 * the built-in table by SDK version, else its newest row. Never fails; `out->source` says which.
 */
void span_layout_find(struct elf_image *image, uint64_t span_type, uint64_t unsampled_type,
		      const char *sdk_version, struct go_span_offsets *out);

#endif
