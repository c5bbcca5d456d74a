/* SPDX-License-Identifier: Apache-2.0 */
/*
 * profile: counted samples of one window: stacks, resources, span handles. Plain tables that
 * format and report read; index 0 of every table is the zero value.
 */
#ifndef PROFILE_PROFILE_H
#define PROFILE_PROFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/location.h"

struct profile;
struct spans;
struct string_table;

struct profile_config {
	uint64_t period_ns; /* CPU time one sample stands for */
	size_t samples_max; /* distinct (stack, resource, span) */
	size_t strings_bytes_max;
	size_t spans_max;
};

/* All string fields are ids in profile_get_strings(). */
struct profile_mapping {
	uint64_t memory_start, memory_limit, file_offset;
	uint32_t file, build_id_go, build_id_gnu;
};
struct profile_function {
	uint32_t name, file, start_line;
};
struct profile_line {
	uint32_t function, line;
};
struct profile_location {
	uint64_t address;
	uint32_t mapping;
	uint32_t first_line, line_count; /* in the lines table, innermost inlined first */
	enum frame_kind kind;
};
struct profile_stack {
	uint32_t first_location, location_count; /* in the stack_locations table, leaf first */
	bool truncated;
};
struct profile_attribute {
	uint32_t key, value; /* strings */
	int64_t number;	     /* when is_integer */
	bool is_integer;
};
struct profile_resource {
	uint32_t first_attribute, attribute_count;
};
struct profile_sample {
	uint32_t stack, resource, span; /* span: handle in profile_get_spans(), 0 none */
	uint64_t count;			/* samples; CPU time = count × period */
};

/* What a goroutine did that was not on a CPU. */
enum profile_wait_kind {
	PROFILE_WAIT_PARKED, /* its stack's leaf says for what */
	PROFILE_WAIT_RUNNABLE,
	PROFILE_WAIT_SYSCALL,
	PROFILE_WAIT_NO_CPU,
	PROFILE_WAIT_THROTTLED,
	PROFILE_WAIT_KINDS,
};
/* Its time, which is not of the samples. */
struct profile_wait {
	uint32_t stack, resource, span;
	uint32_t kind; /* enum profile_wait_kind */
	uint64_t ns;
};

/* Everything, lent until the next change. Counts include the zero value at index 0. */
struct profile_view {
	uint64_t period_ns, start_wall_ns, duration_ns;
	uint64_t covered_ns;	   /* of the duration, as far as it was profiled */
	uint64_t look_interval_ns; /* between looks at what waits; 0: unknown, or none */
	const struct profile_mapping *mappings;
	const struct profile_function *functions;
	const struct profile_line *lines;
	const struct profile_location *locations;
	const uint32_t *stack_locations;
	const struct profile_stack *stacks;
	const struct profile_attribute *attributes;
	const struct profile_resource *resources;
	const struct profile_sample *samples;
	const struct profile_wait *waits;
	size_t mapping_count, function_count, line_count, location_count, stack_location_count,
		stack_count, resource_count, sample_count, wait_count;
	uint64_t dropped; /* samples lost at a cap */
	uint64_t waits_dropped_ns;
	uint64_t untagged;   /* samples kept outside any span: theirs found no room */
	uint64_t unsampled;  /* samples kept outside any span: theirs was sampled out */
	uint64_t names_lost; /* times that a string found no room */
};

/* The handle of a span that found no room: the sample counts as untagged. */
#define PROFILE_SPAN_LOST UINT32_MAX
/* Of one that the tracer sampled out: no span, but counted. */
#define PROFILE_SPAN_UNSAMPLED (UINT32_MAX - 1)

/* What a resource is called, for profile_add_resource. Strings are lent. */
struct resource_attribute {
	const char *key;
	const char *value;
	int64_t number;
	bool is_integer;
};

struct sample_input {
	const struct location *const *locations; /* leaf first; lent, keyed by location.id */
	size_t location_count;
	bool truncated;
	uint32_t resource;
	uint32_t span; /* handle of this profile's spans, 0 none, or one of those above */
	uint64_t count;
};

int profile_open(const struct profile_config *config, uint64_t start_wall_ns, struct profile **out);
void profile_close(struct profile *p);
/* Same attributes → same handle. 0 at the cap. */
uint32_t profile_add_resource(struct profile *p, const struct resource_attribute *attributes,
			      size_t count);
/*
 * What is known of a resource has changed: all that it has counts as this one's, under the same
 * handle. -ENOENT there is none with these attributes; -ENOSPC, -ENOMEM: it stays as it was.
 */
int profile_rename_resource(struct profile *p, const struct resource_attribute *was,
			    size_t was_count, const struct resource_attribute *is, size_t is_count);
/* -ENOSPC at a cap (counted in dropped). */
int profile_add(struct profile *p, const struct sample_input *sample);
/* The two halves of profile_add, for a caller with many samples of one stack: the handle of the
 * sample's locations (-ENOSPC, -ENOMEM, not counted), and the sample without looking at them. */
int profile_add_stack(struct profile *p, const struct sample_input *sample, uint32_t *stack);
int profile_add_to_stack(struct profile *p, const struct sample_input *sample, uint32_t stack);
/* Adds to what the sample's goroutine waited; its count is not looked at. -ENOSPC at a cap, counted
 * in waits_dropped_ns. */
int profile_add_wait(struct profile *p, const struct sample_input *sample,
		     enum profile_wait_kind kind, uint64_t ns);
/* The second half of it, for a stack of profile_add_stack. */
int profile_add_wait_to_stack(struct profile *p, const struct sample_input *sample, uint32_t stack,
			      enum profile_wait_kind kind, uint64_t ns);
/* Counts time as dropped that the caller had no room for. */
void profile_drop_wait(struct profile *p, uint64_t ns);
/* How far apart the looks were that waits come from, on average. Of merged profiles the longest. */
void profile_set_look_interval(struct profile *p, uint64_t ns);
/* The field's word for it, "waiting", "runnable" …; and which one the leaf of a stack names. */
const char *profile_wait_word(enum profile_wait_kind kind);
enum profile_wait_kind profile_wait_kind_of(const char *state);
/* Counts samples as dropped that the caller had no room for. */
void profile_drop(struct profile *p, uint64_t count);
/* location.id keys become stale when the symbolizer was reset. */
void profile_forget_locations(struct profile *p);
/* Adds all of `from` to `to` (resources, spans, names of spans, counts; start = the earlier,
 * end = the later). Periods may differ: counts are scaled to the period of `to` when they do. */
int profile_merge(struct profile *to, const struct profile *from);
void profile_set_end(struct profile *p, uint64_t end_wall_ns);
/*
 * Extends the profile to this time as well: start = the earlier known one, end = the later. What
 * lies between them is not covered by it.
 */
void profile_cover(struct profile *p, uint64_t start_wall_ns, uint64_t end_wall_ns);
/* How much between start and end is not covered. */
void profile_set_gaps(struct profile *p, uint64_t ns);
/*
 * Counts of one period as counts of another. They keep their sum of CPU time, not each its own: the
 * remainder of every division is carried to the next, so that many small counts do not round away.
 * `carry_ns` begins at half of `to_ns`, which rounds to the nearest.
 */
uint64_t profile_scale(uint64_t count, uint64_t from_ns, uint64_t to_ns, uint64_t *carry_ns);

struct spans *profile_get_spans(const struct profile *p);	   /* lent */
struct string_table *profile_get_strings(const struct profile *p); /* lent */
/* What a person would call the process: string id of service.name, else of its executable's name,
 * else 0. The resource is one of the profile's. */
uint32_t profile_get_service(const struct profile *p, uint32_t resource);
void profile_get_view(const struct profile *p, struct profile_view *view);

#endif
