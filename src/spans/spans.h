/* SPDX-License-Identifier: Apache-2.0 */
/* spans: the spans seen in samples: IDs, last name, counts. Outlives profile windows. */
#ifndef SPANS_SPANS_H
#define SPANS_SPANS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct spans;
struct string_table;

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
};

/* One sample's sight of a span. */
struct span_sight {
	uint8_t trace_id[16];
	uint8_t span_id[8];
	const char *name; /* lent; need not end in NUL */
	size_t name_size;
	uint32_t resource;
	bool sampled;
	uint64_t time_ns;
	uint64_t value_ns;
};

/* `strings` is lent. At the cap new spans are dropped and counted. */
int spans_open(struct string_table *strings, size_t spans_max, struct spans **out);
void spans_close(struct spans *s);
/* The handle of the span, made known and counted; 0 at the cap. */
uint32_t spans_add(struct spans *s, const struct span_sight *sight);
/* The same for a span of another store with all its counts (merging, reading a file): `name` is its
 * name as text, `other->resource` a resource of this store's owner. */
uint32_t spans_absorb(struct spans *s, const struct span *other, const char *name);
/* Lent until the next change; NULL unknown. */
const struct span *spans_get(const struct spans *s, uint32_t handle);
uint32_t spans_count(const struct spans *s); /* handles are 1 … count */
uint64_t spans_dropped(const struct spans *s);

#endif
