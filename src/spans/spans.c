/* SPDX-License-Identifier: Apache-2.0 */
/* Spans found by (trace ID, span ID), up to a cap; the sums of the ended ones beside them. */
#include "spans/spans.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/handle_index.h"
#include "base/string_table.h"
#include "spans/span_groups.h"

/* Names are for people; a longer one is cut. */
#define NAME_BYTES_MAX 1024

struct span_key {
	uint8_t trace_id[16];
	uint8_t span_id[8];
};

struct spans {
	struct string_table *strings; /* lent */
	struct span *rows;	      /* row 0 unused: handles begin at 1 */
	size_t count, capacity, max;
	struct handle_index index;
	struct span_groups groups;
	uint64_t dropped;
};

int spans_open(struct string_table *strings, size_t spans_max, struct spans **out)
{
	struct spans *s = calloc(1, sizeof(*s));

	if (!s)
		return -ENOMEM;
	s->strings = strings;
	s->max = spans_max < UINT32_MAX ? spans_max : UINT32_MAX - 1;
	s->count = 1;
	*out = s;
	return 0;
}

void spans_close(struct spans *s)
{
	if (!s)
		return;
	span_groups_close(&s->groups);
	handle_index_close(&s->index);
	free(s->rows);
	free(s);
}

static bool same_ids(const void *owner, uint32_t handle, const void *key)
{
	const struct span *row = &((const struct spans *)owner)->rows[handle];
	const struct span_key *k = key;

	return !memcmp(row->span_id, k->span_id, sizeof(k->span_id)) &&
	       !memcmp(row->trace_id, k->trace_id, sizeof(k->trace_id));
}

static int grow(struct spans *s)
{
	size_t capacity = s->capacity ? s->capacity * 2 : 64;
	struct span *rows;

	if (s->count > s->max)
		return -ENOSPC;
	if (s->count < s->capacity)
		return 0;
	rows = realloc(s->rows, capacity * sizeof(*rows));
	if (!rows)
		return -ENOMEM;
	s->rows = rows;
	s->capacity = capacity;
	return 0;
}

static struct span *find(struct spans *s, const struct span_key *key)
{
	uint32_t handle =
		handle_index_find(&s->index, handle_hash(key, sizeof(*key)), same_ids, s, key);

	return handle ? &s->rows[handle] : NULL;
}

/* The row of these IDs, made when new; NULL at the cap, counted. */
static struct span *find_or_make(struct spans *s, const uint8_t trace_id[16],
				 const uint8_t span_id[8])
{
	struct span_key key;
	struct span *row;

	memcpy(key.trace_id, trace_id, sizeof(key.trace_id));
	memcpy(key.span_id, span_id, sizeof(key.span_id));
	row = find(s, &key);
	if (row)
		return row;
	if (grow(s) ||
	    handle_index_add(&s->index, handle_hash(&key, sizeof(key)), (uint32_t)s->count)) {
		s->dropped++;
		return NULL;
	}
	row = &s->rows[s->count];
	memset(row, 0, sizeof(*row));
	row->handle = (uint32_t)s->count++;
	memcpy(row->trace_id, key.trace_id, sizeof(key.trace_id));
	memcpy(row->span_id, key.span_id, sizeof(key.span_id));
	return row;
}

static uint32_t name_id(struct spans *s, const char *name, size_t size)
{
	char cleaned[NAME_BYTES_MAX];

	size = string_clean(cleaned, sizeof(cleaned), name, size);
	return string_table_add(s->strings, cleaned, size);
}

static void set_name(struct spans *s, struct span *row, const char *name, size_t size)
{
	uint32_t id = name_id(s, name, size);

	if (id)
		row->name = id;
}

static void widen(struct span *row, uint64_t first_ns, uint64_t last_ns)
{
	if (first_ns && (!row->first_ns || first_ns < row->first_ns))
		row->first_ns = first_ns;
	if (last_ns > row->last_ns)
		row->last_ns = last_ns;
}

uint32_t spans_add(struct spans *s, const struct span_sight *sight)
{
	struct span *row = find_or_make(s, sight->trace_id, sight->span_id);

	if (!row)
		return 0;
	if (sight->name_size && !row->ended) /* an ended span has its final name */
		set_name(s, row, sight->name, sight->name_size);
	if (sight->resource)
		row->resource = sight->resource;
	row->sampled |= sight->sampled;
	if (!sight->waits) {
		row->samples++;
		row->value_ns += sight->value_ns;
	}
	widen(row, sight->time_ns, sight->time_ns);
	return row->handle;
}

/* Half of the room is for spans that have samples. */
static bool has_room_for_ended(const struct spans *s)
{
	return s->count <= s->max / 2;
}

static struct span *row_of_ended(struct spans *s, const uint8_t trace_id[16],
				 const uint8_t span_id[8], bool keep)
{
	struct span_key key;

	if (keep && has_room_for_ended(s))
		return find_or_make(s, trace_id, span_id);
	memcpy(key.trace_id, trace_id, sizeof(key.trace_id));
	memcpy(key.span_id, span_id, sizeof(key.span_id));
	return find(s, &key);
}

static void absorb_begin(struct span *row, const struct span *other)
{
	row->kind = other->kind;
	memcpy(row->parent_id, other->parent_id, sizeof(row->parent_id));
	row->start_wall_ns = other->start_wall_ns;
	if (other->open_wall_ns > row->open_wall_ns)
		row->open_wall_ns = other->open_wall_ns;
}

static void absorb_end(struct span *row, const struct span *other)
{
	absorb_begin(row, other);
	row->ended = true;
	row->status = other->status;
	row->duration_ns = other->duration_ns;
}

/* What the SDK's memory says of an open span as of one that has ended. */
static void absorb_memory(struct spans *s, struct span *row, const struct span_end *is)
{
	if (is->name_size)
		set_name(s, row, is->name, is->name_size);
	if (is->span.resource)
		row->resource = is->span.resource;
	row->sampled |= is->span.sampled;
}

/* Where the final name is not known the last one seen stands for it. */
static void add_to_group(struct spans *s, const struct span_end *end, const struct span *row)
{
	uint32_t name = end->name_size || !row ? name_id(s, end->name, end->name_size) : row->name;
	struct span_group *group = span_groups_get(&s->groups, name, end->span.resource);

	if (!group) {
		s->groups.dropped++;
		return;
	}
	durations_add(&group->durations, end->span.duration_ns);
	group->errors += end->span.status == SPAN_STATUS_ERROR;
}

void spans_end(struct spans *s, const struct span_end *end, bool keep)
{
	struct span *row = row_of_ended(s, end->span.trace_id, end->span.span_id, keep);

	if (row && row->ended)
		return;
	if (row) {
		absorb_memory(s, row, end);
		absorb_end(row, &end->span);
	}
	add_to_group(s, end, row);
}

void spans_see_open(struct spans *s, const struct span_end *is, uint64_t wall_ns, bool keep)
{
	struct span *row = row_of_ended(s, is->span.trace_id, is->span.span_id, keep);

	if (!row || row->ended)
		return;
	absorb_memory(s, row, is);
	absorb_begin(row, &is->span);
	row->open_wall_ns = wall_ns;
}

uint32_t spans_absorb(struct spans *s, const struct span *other, const char *name)
{
	struct span *row = other->samples ? find_or_make(s, other->trace_id, other->span_id)
					  : row_of_ended(s, other->trace_id, other->span_id, true);

	if (!row)
		return 0;
	/* Before its end the last name seen counts. */
	if (name[0] &&
	    (!row->name || other->ended || (!row->ended && other->last_ns >= row->last_ns)))
		set_name(s, row, name, strlen(name));
	if (other->resource)
		row->resource = other->resource;
	row->sampled |= other->sampled;
	row->samples += other->samples;
	row->value_ns += other->value_ns;
	widen(row, other->first_ns, other->last_ns);
	if (other->ended && !row->ended)
		absorb_end(row, other);
	else if (other->open_wall_ns && !row->ended)
		absorb_begin(row, other);
	return row->handle;
}

const struct span *spans_get(const struct spans *s, uint32_t handle)
{
	return handle && handle < s->count ? &s->rows[handle] : NULL;
}

uint32_t spans_count(const struct spans *s)
{
	return (uint32_t)(s->count - 1);
}

uint64_t spans_ungrouped(const struct spans *s)
{
	return s->groups.dropped;
}

void spans_add_ungrouped(struct spans *s, uint64_t count)
{
	s->groups.dropped += count;
}

uint64_t spans_dropped(const struct spans *s)
{
	return s->dropped;
}

uint32_t spans_group_count(const struct spans *s)
{
	return s->groups.count ? (uint32_t)s->groups.count - 1 : 0;
}

const struct span_group *spans_get_group(const struct spans *s, uint32_t group)
{
	return group && group < s->groups.count ? &s->groups.rows[group] : NULL;
}

void spans_absorb_group(struct spans *s, const struct span_group *other, const char *name,
			uint32_t resource)
{
	struct span_group *group =
		span_groups_get(&s->groups, name_id(s, name, strlen(name)), resource);

	if (!group) {
		s->groups.dropped += other->durations.count;
		return;
	}
	durations_merge(&group->durations, &other->durations);
	group->errors += other->errors;
}
