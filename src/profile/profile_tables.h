/* SPDX-License-Identifier: Apache-2.0 */
/* Private to profile: the tables behind a profile and the interning of their rows. */
#ifndef PROFILE_PROFILE_TABLES_H
#define PROFILE_PROFILE_TABLES_H

#include "profile/profile.h"
#include "profile/table.h"

/* Deepest stack kept; more callers are cut and the stack counts as truncated. */
#define PROFILE_DEPTH_MAX 1024
/* Inlined frames kept of one location. */
#define PROFILE_LINES_MAX 128
/* Attributes kept of one resource. */
#define PROFILE_ATTRIBUTES_MAX 64

struct profile {
	struct profile_config config;
	uint64_t start_wall_ns, end_wall_ns;
	uint64_t gaps_ns; /* between them, not covered */
	uint64_t dropped, untagged, unsampled, waits_dropped_ns, look_interval_ns;
	uint64_t names_lost; /* of profiles merged into this one; its own: in `strings` */
	struct string_table *strings;
	struct spans *spans;
	struct table mappings, functions, lines, locations, stack_locations, stacks, attributes,
		resources, samples, waits;
	/* Caches from the ids of struct location and struct frame_mapping to handles. */
	struct table location_ids, mapping_ids;
};

/* Each: 0, -ENOSPC at a cap, -ENOMEM. `head` comes with its first index 0. */
int profile_intern_location(struct profile *p, const struct profile_location *head,
			    const struct profile_line *lines, uint32_t *handle);
int profile_intern_stack(struct profile *p, const struct profile_stack *head,
			 const uint32_t *locations, uint32_t *handle);
int profile_intern_resource(struct profile *p, const struct profile_attribute *attributes,
			    size_t count, uint32_t *handle);
/* Adds to the sample of this (stack, resource, span). */
int profile_count(struct profile *p, const struct profile_sample *key, uint64_t count);
/* The same of what was waited. */
int profile_sum_up_wait(struct profile *p, const struct profile_wait *key, uint64_t ns);
/* The handle of a symbolizer's location. */
int profile_take_location(struct profile *p, const struct location *location, uint32_t *handle);

#endif
