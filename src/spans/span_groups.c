/* SPDX-License-Identifier: Apache-2.0 */
/* A small table of rows that are never taken out. */
#include "spans/span_groups.h"

#include <stdlib.h>
#include <string.h>

struct group_key {
	uint32_t name, resource;
};

void span_groups_close(struct span_groups *g)
{
	handle_index_close(&g->index);
	free(g->rows);
	memset(g, 0, sizeof(*g));
}

static bool same_group(const void *owner, uint32_t handle, const void *key)
{
	const struct span_group *row = &((const struct span_groups *)owner)->rows[handle];
	const struct group_key *k = key;

	return row->name == k->name && row->resource == k->resource;
}

static bool grow(struct span_groups *g)
{
	size_t capacity = g->capacity ? g->capacity * 2 : 8;
	struct span_group *rows;

	if (!g->count)
		g->count = 1;
	if (g->count > SPAN_GROUPS_MAX)
		return false;
	if (g->count < g->capacity)
		return true;
	rows = realloc(g->rows, capacity * sizeof(*rows));
	if (!rows)
		return false;
	g->rows = rows;
	g->capacity = capacity;
	return true;
}

struct span_group *span_groups_get(struct span_groups *g, uint32_t name, uint32_t resource)
{
	struct group_key key = {name, resource};
	uint64_t hash = handle_hash(&key, sizeof(key));
	uint32_t handle = handle_index_find(&g->index, hash, same_group, g, &key);

	if (handle)
		return &g->rows[handle];
	if (!grow(g) || handle_index_add(&g->index, hash, (uint32_t)g->count))
		return NULL;
	memset(&g->rows[g->count], 0, sizeof(*g->rows));
	g->rows[g->count].name = name;
	g->rows[g->count].resource = resource;
	return &g->rows[g->count++];
}
