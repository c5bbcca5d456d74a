/* SPDX-License-Identifier: Apache-2.0 */
/* The spans seen in samples, found by (trace ID, span ID), counted up to a cap. */
#include "spans/spans.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/handle_index.h"
#include "base/string_table.h"

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

/* The row of these IDs, made when new; NULL at the cap, counted. */
static struct span *find_or_make(struct spans *s, const uint8_t trace_id[16],
				 const uint8_t span_id[8])
{
	struct span_key key;
	struct span *row;
	uint32_t handle;
	uint64_t hash;

	memcpy(key.trace_id, trace_id, sizeof(key.trace_id));
	memcpy(key.span_id, span_id, sizeof(key.span_id));
	hash = handle_hash(&key, sizeof(key));
	handle = handle_index_find(&s->index, hash, same_ids, s, &key);
	if (handle)
		return &s->rows[handle];
	if (grow(s) || handle_index_add(&s->index, hash, (uint32_t)s->count)) {
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

static void set_name(struct spans *s, struct span *row, const char *name, size_t size)
{
	char cleaned[NAME_BYTES_MAX];
	uint32_t id;

	size = string_clean(cleaned, sizeof(cleaned), name, size);
	id = string_table_add(s->strings, cleaned, size);
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
	if (sight->name_size)
		set_name(s, row, sight->name, sight->name_size);
	if (sight->resource)
		row->resource = sight->resource;
	row->sampled |= sight->sampled;
	row->samples++;
	row->value_ns += sight->value_ns;
	widen(row, sight->time_ns, sight->time_ns);
	return row->handle;
}

uint32_t spans_absorb(struct spans *s, const struct span *other, const char *name)
{
	struct span *row = find_or_make(s, other->trace_id, other->span_id);

	if (!row)
		return 0;
	if (name[0] && (!row->name || other->last_ns >= row->last_ns))
		set_name(s, row, name, strlen(name));
	if (other->resource)
		row->resource = other->resource;
	row->sampled |= other->sampled;
	row->samples += other->samples;
	row->value_ns += other->value_ns;
	widen(row, other->first_ns, other->last_ns);
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

uint64_t spans_dropped(const struct spans *s)
{
	return s->dropped;
}
