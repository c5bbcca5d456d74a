/* SPDX-License-Identifier: Apache-2.0 */
/* Where the OpenTelemetry SDK's spans keep what spanprof reads; see span_layout.h. */
#include "gobinary/span_layout.h"

#include <stddef.h>

#include "gobinary/go_version.h"
#include "gobinary/rtypes.h"

/* trace.SpanContext has begun with trace ID, span ID and flags since 1.0. */
#define CONTEXT .context_trace_id = 0, .context_span_id = 16, .context_flags = 24

/* Measured over SDK 1.0.1 to 1.47 by reflection. */
static const struct {
	int first_minor;
	struct go_span_offsets offsets;
} table[] = {
	{20,
	 {.context = 192,
	  .parent = 24,
	  .name = 96,
	  .start_time = 112,
	  .end_time = 136,
	  .status = 160,
	  .kind = 88,
	  CONTEXT,
	  .unsampled_context = 24}},
	{4,
	 {.context = 176,
	  .parent = 8,
	  .name = 80,
	  .start_time = 96,
	  .end_time = 120,
	  .status = 144,
	  .kind = 72,
	  CONTEXT,
	  .unsampled_context = 8}},
	{0,
	 {.context = 232,
	  .parent = 8,
	  .name = 80,
	  .start_time = 96,
	  .end_time = 120,
	  .status = 144,
	  .kind = 72,
	  CONTEXT,
	  .unsampled_context = 8}},
};
/* Beyond this minor the newest row is a guess. */
#define NEWEST_MINOR 47

/* What a version lacks stays 0: the others are right without it. */
static void find_optional(struct elf_image *image, uint64_t span_type, uint64_t unsampled_type,
			  struct go_span_offsets *out)
{
	(void)rtypes_find_field(image, span_type, "parent", &out->parent, NULL);
	(void)rtypes_find_field(image, span_type, "startTime", &out->start_time, NULL);
	(void)rtypes_find_field(image, span_type, "spanKind", &out->kind, NULL);
	(void)rtypes_find_nested(image, span_type, "status", "Code", &out->status);
	if (unsampled_type)
		(void)rtypes_find_field(image, unsampled_type, "sc", &out->unsampled_context, NULL);
}

static int from_rtypes(struct elf_image *image, uint64_t type, struct go_span_offsets *out)
{
	uint64_t context;
	int err = rtypes_find_field(image, type, "spanContext", &out->context, &context);

	if (!err)
		err = rtypes_find_field(image, type, "endTime", &out->end_time, NULL);
	if (!err)
		err = rtypes_find_field(image, type, "name", &out->name, NULL);
	if (!err)
		err = rtypes_find_field(image, context, "traceID", &out->context_trace_id, NULL);
	if (!err)
		err = rtypes_find_field(image, context, "spanID", &out->context_span_id, NULL);
	if (!err)
		err = rtypes_find_field(image, context, "traceFlags", &out->context_flags, NULL);
	return err;
}

void span_layout_find(struct elf_image *image, uint64_t span_type, uint64_t unsampled_type,
		      const char *sdk_version, struct go_span_offsets *out)
{
	int minor = go_version_minor(sdk_version);
	size_t row = 0;

	*out = (struct go_span_offsets){.source = GO_OFFSETS_RTYPES};
	if (span_type && !from_rtypes(image, span_type, out)) {
		find_optional(image, span_type, unsampled_type, out);
		return;
	}
	while (minor >= 0 && minor < table[row].first_minor)
		row++;
	*out = table[row].offsets;
	out->source = minor < 0 || minor > NEWEST_MINOR ? GO_OFFSETS_NEWEST : GO_OFFSETS_TABLE;
}
