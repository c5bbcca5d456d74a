/* SPDX-License-Identifier: Apache-2.0 */
/* Where the OpenTelemetry SDK's recordingSpan keeps what spanprof reads; see span_layout.h. */
#include "gobinary/span_layout.h"

#include <stddef.h>

#include "gobinary/go_version.h"
#include "gobinary/rtypes.h"

static const struct {
	int first_minor;
	uint16_t context, end_time, name;
} table[] = {
	{20, 192, 136, 96},
	{4, 176, 120, 80},
	{0, 232, 120, 80},
};
/* Beyond this minor the newest row is a guess. */
#define NEWEST_MINOR 47
/* trace.SpanContext has begun with these since 1.0. */
#define TRACE_ID    0
#define SPAN_ID	    16
#define TRACE_FLAGS 24

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

void span_layout_find(struct elf_image *image, uint64_t span_type, const char *sdk_version,
		      struct go_span_offsets *out)
{
	int minor = go_version_minor(sdk_version);
	size_t row = 0;

	*out = (struct go_span_offsets){.source = GO_OFFSETS_RTYPES};
	if (span_type && !from_rtypes(image, span_type, out))
		return;
	while (minor >= 0 && minor < table[row].first_minor)
		row++;
	*out = (struct go_span_offsets){
		.source = minor < 0 || minor > NEWEST_MINOR ? GO_OFFSETS_NEWEST : GO_OFFSETS_TABLE,
		.context = table[row].context,
		.end_time = table[row].end_time,
		.name = table[row].name,
		.context_trace_id = TRACE_ID,
		.context_span_id = SPAN_ID,
		.context_flags = TRACE_FLAGS,
	};
}
