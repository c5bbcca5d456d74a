/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Descriptors of g, m and the SDK's spans in a go_image, with offsets that no version has, so that
 * a built-in table cannot be mistaken for them.
 */
#ifndef UNIT_GO_TYPES_H
#define UNIT_GO_TYPES_H

#include "go_image.h"

struct go_types {
	uint64_t g, m, span, span_pointer, unsampled;
};

/* `lacking` leaves out what spanprof can do without; `bp` is the offset in sched. */
static inline void go_types_add(struct go_image *m, const char *sdk_package, uint64_t bp,
				bool lacking, struct go_types *t)
{
	const struct go_image_field stack[] = {{"lo", 0, 0}, {"hi", 0, 8}};
	const struct go_image_field sched[] = {{"sp", 0, 8}, {"pc", 0, 16}, {"bp", 0, bp}};
	const struct go_image_field mm[] = {
		{"procid", 0, 88}, {"g0", 0, 16}, {"gsignal", 0, 112}, {"curg", 0, 208}};
	const struct go_image_field context[] = {
		{"traceID", 0, 8}, {"spanID", 0, 24}, {"traceFlags", 0, 33}};
	const struct go_image_field status[] = {{"Description", 0, 0}, {"Code", 0, 16}};
	uint64_t stack_type = go_image_add_struct(m, NULL, NULL, 16, stack, 2, 0, false, NULL);
	uint64_t sched_type = go_image_add_struct(m, NULL, NULL, 64, sched, 3, 0, false, NULL);
	uint64_t context_type = go_image_add_struct(m, NULL, NULL, 64, context, 3, 0, false, NULL);
	uint64_t status_type = go_image_add_struct(m, NULL, NULL, 24, status, 2, 0, false, NULL);
	const struct go_image_field g[] = {{"atomicstatus", 0, 216},  {"labels", 0, 248},
					   {"waitreason", 0, 224},    {"syscallbp", 0, 176},
					   {"stack", stack_type, 32}, {"m", 0, 64},
					   {"sched", sched_type, 80}, {"syscallsp", 0, 160},
					   {"syscallpc", 0, 168},     {"goid", 0, 240}};
	const struct go_image_field span[] = {{"parent", context_type, 32},
					      {"startTime", 0, 128},
					      {"status", status_type, 176},
					      {"spanKind", 0, 280},
					      {"name", 0, 104},
					      {"endTime", 0, 152},
					      {"spanContext", context_type, 208}};
	const struct go_image_field unsampled[] = {{"tracer", 0, 0}, {"sc", context_type, 40}};
	size_t left_out = lacking ? 4 : 0;

	t->g = go_image_add_struct(m, "*runtime.g", "runtime", 320, g + left_out, 10 - left_out, 0,
				   false, NULL);
	t->m = go_image_add_struct(m, "*runtime.m", "runtime", 320, mm + lacking, 4 - lacking, 0,
				   false, NULL);
	t->span = go_image_add_struct(m, "*trace.recordingSpan", sdk_package, 300, span + left_out,
				      7 - left_out, 0, false, &t->span_pointer);
	t->unsampled = lacking ? 0
			       : go_image_add_struct(m, "*trace.nonRecordingSpan", sdk_package, 104,
						     unsampled, 2, 0, false, NULL);
}

#endif
