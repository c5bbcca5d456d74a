/* SPDX-License-Identifier: Apache-2.0 */
/*
 * spans: the spans seen in samples or after their end: IDs, last name, counts, times, outcome; and
 * all that have ended, summed up by name. Outlives profile windows.
 */
#ifndef SPANS_SPANS_H
#define SPANS_SPANS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct spans;
struct span_group;
struct string_table;

#define SPAN_STATUS_ERROR 1 /* Go: codes.Error */

struct span {
	uint32_t handle; /* never 0; index in this store */
	uint8_t trace_id[16];
	uint8_t span_id[8];
	uint32_t name;	   /* id in the string table; the last name seen */
	uint32_t resource; /* handle of the resource (process) it was seen in */
	bool sampled;	   /* W3C flag: only sampled spans are linked on the wire */
	uint64_t samples;
	uint64_t value_ns; /* CPU time of all its samples */
	uint64_t first_ns; /* CLOCK_MONOTONIC of the first and last sample */
	uint64_t last_ns;
	/* Known once the SDK's memory was read while it was open or after its end; else 0. */
	uint8_t kind; /* 1 internal, 2 server, 3 client, 4 producer, 5 consumer */
	uint8_t parent_id[8];
	uint64_t start_wall_ns; /* since 1970, as its trace has it */
	uint64_t open_wall_ns;	/* when it was last seen to be open there; 0 never */
	/* Known once it has ended; else 0. */
	bool ended;
	uint8_t status; /* 0 unset, 1 error, 2 ok */
	uint64_t duration_ns;
};

/* One sample's sight of a span. */
struct span_sight {
	uint8_t trace_id[16];
	uint8_t span_id[8];
	const char *name; /* lent; need not end in NUL */
	size_t name_size;
	uint32_t resource;
	bool sampled;
	bool waits; /* it is on no CPU: no sample is counted */
	uint64_t time_ns;
	uint64_t value_ns;
};

/* A span that has ended, as the SDK's memory has it. */
struct span_end {
	const char *name; /* the final one; lent; need not end in NUL */
	size_t name_size;
	struct span
		span; /* but handle, name, counts and times of samples: they are not looked at */
};

/* `strings` is lent. At the cap new spans are dropped and counted. */
int spans_open(struct string_table *strings, size_t spans_max, struct spans **out);
void spans_close(struct spans *s);
/* The handle of the span, made known and counted; 0 at the cap. */
uint32_t spans_add(struct spans *s, const struct span_sight *sight);
/*
 * Tells a span's end: kept with the span where that is known or `keep`, and in the sums of its
 * name. Once for each span: telling it again changes nothing where the span is kept.
 */
void spans_end(struct spans *s, const struct span_end *end, bool keep);
/* What is known of an open span at `wall_ns`, kept like an end. `is` has no end. */
void spans_see_open(struct spans *s, const struct span_end *is, uint64_t wall_ns, bool keep);
/* The same for a span of another store with all its counts (merging, reading a file): `name` is its
 * name as text, `other->resource` a resource of this store's owner. */
uint32_t spans_absorb(struct spans *s, const struct span *other, const char *name);
/* Lent until the next change; NULL unknown. */
const struct span *spans_get(const struct spans *s, uint32_t handle);
uint32_t spans_count(const struct spans *s); /* handles are 1 … count */
uint64_t spans_dropped(const struct spans *s);
/* Ended spans that are in no group: there are too many names. */
uint64_t spans_ungrouped(const struct spans *s);
void spans_add_ungrouped(struct spans *s, uint64_t count); /* of another store */
/* Ended spans by name and resource: groups are 1 … count. NULL unknown; lent until the next change.
 */
uint32_t spans_group_count(const struct spans *s);
const struct span_group *spans_get_group(const struct spans *s, uint32_t group);
/* Adds a group of another store; `name` as text, `resource` of this store's owner. */
void spans_absorb_group(struct spans *s, const struct span_group *other, const char *name,
			uint32_t resource);

#endif
