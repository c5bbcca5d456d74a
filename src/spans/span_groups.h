/* SPDX-License-Identifier: Apache-2.0 */
/* Ended spans summed up by name and resource: exact counts and percentiles in bounded memory. */
#ifndef SPANS_SPAN_GROUPS_H
#define SPANS_SPAN_GROUPS_H

#include <stddef.h>
#include <stdint.h>

#include "base/handle_index.h"
#include "spans/durations.h"

#define SPAN_GROUPS_MAX 1024

struct span_group {
	uint32_t name;	   /* string id of the final name */
	uint32_t resource; /* handle of the resource (process) */
	uint64_t errors;   /* ended with status error */
	struct durations durations;
};

/* All zero is a valid empty one. */
struct span_groups {
	struct span_group *rows; /* row 0 unused */
	size_t count, capacity;
	struct handle_index index;
	uint64_t dropped; /* spans whose group found no room */
};

void span_groups_close(struct span_groups *g);
/* The group, made when new; NULL at the cap. */
struct span_group *span_groups_get(struct span_groups *g, uint32_t name, uint32_t resource);

#endif
