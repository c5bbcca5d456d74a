/* SPDX-License-Identifier: Apache-2.0 */
/* Sorted rows: what counts its IDs from 1, as most writers do, is found without a search. */
#include "format/pprof_ids.h"

#include <errno.h>
#include <stdlib.h>

#include "base/arena.h"

int pprof_ids_open(struct pprof_ids *ids, struct arena *arena, size_t count)
{
	ids->rows = arena_take_array(arena, count + 1, sizeof(*ids->rows));
	ids->count = count;
	return ids->rows ? 0 : -ENOMEM;
}

static int compare(const void *left, const void *right)
{
	const struct pprof_id *a = left, *b = right;

	return a->id < b->id ? -1 : a->id > b->id;
}

int pprof_ids_sort(struct pprof_ids *ids, uint64_t *twice)
{
	uint64_t before = 0; /* no ID, so it counts as there already */

	qsort(ids->rows, ids->count, sizeof(*ids->rows), compare);
	for (size_t i = 0; i < ids->count; i++) {
		*twice = ids->rows[i].id;
		if (*twice == before)
			return -EEXIST;
		before = *twice;
	}
	return 0;
}

int pprof_ids_find(const struct pprof_ids *ids, uint64_t id, size_t *index)
{
	const struct pprof_id key = {.id = id}, *found = NULL;

	if (id && id <= ids->count && ids->rows[id - 1].id == id)
		found = &ids->rows[id - 1];
	else if (ids->count)
		found = bsearch(&key, ids->rows, ids->count, sizeof(key), compare);
	if (!found)
		return -ENOENT;
	*index = found->index;
	return 0;
}
