/* SPDX-License-Identifier: Apache-2.0 */
/* See wanted.h. */
#include "waiting/wanted.h"

#include <errno.h>
#include <stdlib.h>

#include "base/reserve.h"

#define ENTRIES_MAX (1 << 17)
#define SPANS_MAX   (1 << 19)

static void take(void *to, const struct waiting_goroutine *g)
{
	struct wanted_list *l = to;

	if (!g->span_count)
		return;
	if (!reserve((void **)&l->entries, &l->capacity, l->count, 1, ENTRIES_MAX,
		     sizeof(*l->entries)) ||
	    !reserve((void **)&l->spans, &l->span_capacity, l->span_count, g->span_count, SPANS_MAX,
		     sizeof(*l->spans))) {
		l->full = true;
		return;
	}
	l->entries[l->count++] = (struct wanted){
		.generation = g->generation,
		.older = g->older,
		.inherited = g->inherited,
		.g = g->g,
		.goid = g->goid,
		.first_span = (uint32_t)l->span_count,
		.span_count = (uint32_t)g->span_count,
	};
	for (size_t i = 0; i < g->span_count; i++)
		l->spans[l->span_count++] = g->spans[i];
}

static int compare(const void *left, const void *right)
{
	const struct wanted *a = left, *b = right;

	if (a->generation != b->generation)
		return a->generation < b->generation ? -1 : 1;
	if (a->g != b->g)
		return a->g < b->g ? -1 : 1;
	return a->older - b->older;
}

int wanted_list_fill(struct wanted_list *list, const struct waiting_source *source)
{
	int error;

	list->count = list->span_count = 0;
	list->full = false;
	error = source->each(source->context, take, list);
	if (error)
		list->count = 0;
	if (list->count)
		qsort(list->entries, list->count, sizeof(*list->entries), compare);
	return error;
}

void wanted_list_close(struct wanted_list *list)
{
	free(list->entries);
	free(list->spans);
	*list = (struct wanted_list){0};
}

size_t wanted_list_find(const struct wanted_list *list, uint32_t generation,
			const struct wanted **first)
{
	size_t low = 0, high = list->count, end;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (list->entries[middle].generation < generation)
			low = middle + 1;
		else
			high = middle;
	}
	for (end = low; end < list->count && list->entries[end].generation == generation;)
		end++;
	*first = list->entries + low;
	return end - low;
}
