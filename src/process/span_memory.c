/* SPDX-License-Identifier: Apache-2.0 */
/* Fields by offset; times as Go's time.Time packs them (Go: time/time.go). */
#include "process/span_memory.h"

#include <errno.h>
#include <string.h>

#include "gobinary/gobinary.h"
#include "process/process.h"

#define SPAN_BYTES_MAX 1024 /* of any SDK version; offsets beyond are not believed */

/* Of what may be a span */
#define NAME_BYTES_BELOW 65536
#define STATUS_MAX	 2		      /* codes.Ok */
#define KIND_MAX	 5		      /* trace.SpanKindConsumer */
#define CLOCKS_APART_NS	 100000000ull	      /* the wall clock may be set while we look */
#define OPEN_AT_MOST_NS	 31536000000000000ull /* a year */

/* wall: bit 63 has a monotonic reading; 33 bits of seconds since 1885; 30 bits of nanoseconds. */
#define HAS_MONOTONIC	  (1ull << 63)
#define NANOSECOND_BITS	  30
#define SECONDS_1885_1970 2682288000ll
#define SECONDS_1_1970	  62135596800ll /* ext without a monotonic reading counts from year 1 */

struct part {
	uint32_t offset;
	size_t size;
	void *to;
	bool optional; /* offset 0: this SDK version does not have it */
};

size_t span_memory_size(const struct go_span_offsets *at)
{
	const size_t ends[] = {at->context + at->context_trace_id + 16u,
			       at->context + at->context_span_id + 8u,
			       at->context + at->context_flags + 1u,
			       at->name + 16u,
			       at->start_time + 16u,
			       at->end_time + 16u,
			       at->parent + at->context_span_id + 8u,
			       at->status + 8u,
			       at->kind + 8u};
	size_t size = 0;

	for (size_t i = 0; i < sizeof(ends) / sizeof(*ends); i++)
		size = ends[i] > size ? ends[i] : size;
	return size < SPAN_BYTES_MAX ? size : SPAN_BYTES_MAX;
}

void span_memory_decode(const struct go_span_offsets *at, uint64_t address, const uint8_t *bytes,
			struct span_memory *out)
{
	uint64_t name[2] = {0};
	const struct part parts[] = {
		{(uint32_t)at->context + at->context_trace_id, 16, out->trace_id, false},
		{at->context + at->context_span_id, 8, out->span_id, false},
		{at->context + at->context_flags, 1, &out->trace_flags, false},
		{at->name, 16, name, false},
		{at->start_time, 16, &out->start, false},
		{at->end_time, 16, &out->end, false},
		{at->parent ? at->parent + at->context_span_id : 0, 8, out->parent_id, true},
		{at->status, 1, &out->status, true},
		{at->kind, 1, &out->kind, true},
	};
	const size_t size = span_memory_size(at);

	memset(out, 0, sizeof(*out));
	out->address = address;
	for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++)
		if ((!parts[i].optional || parts[i].offset) &&
		    parts[i].offset + parts[i].size <= size)
			memcpy(parts[i].to, bytes + parts[i].offset, parts[i].size);
	out->name_address = name[0];
	out->name_size = name[1];
}

int span_memory_read(const struct process *p, const struct go_span_offsets *at, uint64_t address,
		     struct span_memory *out)
{
	static const uint8_t no_id[8];
	uint8_t bytes[SPAN_BYTES_MAX];
	int error = process_read_memory(p, address, bytes, span_memory_size(at));

	if (error)
		return error;
	span_memory_decode(at, address, bytes, out);
	return memcmp(out->span_id, no_id, sizeof(no_id)) ? 0 : -ENOENT;
}

size_t span_memory_read_name(const struct process *p, const struct span_memory *span, char *name)
{
	size_t size = span->name_size < SPAN_MEMORY_NAME_MAX ? (size_t)span->name_size
							     : SPAN_MEMORY_NAME_MAX;

	return size && !process_read_memory(p, span->name_address, name, size) ? size : 0;
}

static bool has_ids_and_name(const struct span_memory *span)
{
	static const uint8_t no_id[16];

	return memcmp(span->trace_id, no_id, 16) && memcmp(span->span_id, no_id, 8) &&
	       span->name_address && span->name_size && span->name_size < NAME_BYTES_BELOW;
}

bool span_memory_is_plausible(const struct span_memory *span, uint64_t now_ns)
{
	uint64_t start_ns = go_time_wall_ns(span->start);

	return has_ids_and_name(span) && start_ns <= now_ns + CLOCKS_APART_NS &&
	       start_ns + OPEN_AT_MOST_NS > now_ns;
}

bool span_memory_is_open(const struct span_memory *span)
{
	return !span->end.wall && !span->end.ext;
}

uint64_t go_time_wall_ns(struct go_time t)
{
	uint64_t nanoseconds = t.wall & ((1ull << NANOSECOND_BITS) - 1);
	int64_t seconds = (int64_t)t.ext - SECONDS_1_1970;

	if (t.wall & HAS_MONOTONIC)
		seconds = (int64_t)(t.wall << 1 >> (NANOSECOND_BITS + 1)) - SECONDS_1885_1970;
	if (seconds < 0 || seconds > (int64_t)(UINT64_MAX / 1000000000ull) - 1)
		return 0;
	return (uint64_t)seconds * 1000000000ull + nanoseconds;
}

uint64_t go_time_between_ns(struct go_time start, struct go_time end)
{
	uint64_t from = go_time_wall_ns(start), to = go_time_wall_ns(end);

	if (to <= from)
		return 0;
	return to - from < INT64_MAX ? to - from : INT64_MAX;
}

/* An end that the SDK sets is the start and what the monotonic clock says since. */
static bool clocks_agree(struct go_time start, struct go_time end)
{
	uint64_t wall_ns = go_time_wall_ns(end) - go_time_wall_ns(start);
	uint64_t apart_ns = wall_ns - (end.ext - start.ext);

	return !(start.wall & end.wall & HAS_MONOTONIC) ||
	       apart_ns + CLOCKS_APART_NS < 2 * CLOCKS_APART_NS;
}

bool span_memory_is_whole(const struct span_memory *span)
{
	return has_ids_and_name(span) && go_time_wall_ns(span->start) &&
	       go_time_wall_ns(span->end) && span->status <= STATUS_MAX && span->kind <= KIND_MAX &&
	       clocks_agree(span->start, span->end);
}
