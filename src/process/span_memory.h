/* SPDX-License-Identifier: Apache-2.0 */
/* The OpenTelemetry SDK's recordingSpan in a process's memory, read from outside. */
#ifndef PROCESS_SPAN_MEMORY_H
#define PROCESS_SPAN_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct go_span_offsets;
struct process;

#define SPAN_MEMORY_NAME_MAX 256

/* time.Time as it lies in memory. */
struct go_time {
	uint64_t wall, ext;
};

struct span_memory {
	uint64_t address;
	uint8_t trace_id[16];
	uint8_t span_id[8];
	uint8_t parent_id[8]; /* all 0: a root, or not known in this SDK version */
	uint8_t trace_flags;
	uint8_t status, kind;
	struct go_time start, end; /* end is zero while the span is open */
	uint64_t name_address, name_size;
};

/* Bytes that span_memory_decode wants from the beginning of a recordingSpan. */
size_t span_memory_size(const struct go_span_offsets *at);
/* `bytes` hold span_memory_size bytes read at `address`. */
void span_memory_decode(const struct go_span_offsets *at, uint64_t address, const uint8_t *bytes,
			struct span_memory *out);
/* -EFAULT, -ESRCH, -EPERM; -ENOENT: no span is there. */
int span_memory_read(const struct process *p, const struct go_span_offsets *at, uint64_t address,
		     struct span_memory *out);
/* At most SPAN_MEMORY_NAME_MAX bytes; their number, 0 unreadable. */
size_t span_memory_read_name(const struct process *p, const struct span_memory *span, char *name);

/*
 * Whether what was read can be a span that began before `now_ns` (wall time) and has not been open
 * for more than a year: memory does not say what it holds.
 */
bool span_memory_is_plausible(const struct span_memory *span, uint64_t now_ns);
bool span_memory_is_open(const struct span_memory *span);
/* Wall time in ns since 1970; 0 for the zero time. */
uint64_t go_time_wall_ns(struct go_time t);
/* From one to the other in ns by the wall clock, as exporters tell it; 0 when the end is earlier.
 */
uint64_t go_time_between_ns(struct go_time start, struct go_time end);
/*
 * Whether a span that has ended is still what it was: the memory of one that nobody uses any more
 * may be written over in part.
 */
bool span_memory_is_whole(const struct span_memory *span);

#endif
