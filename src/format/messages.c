/* SPDX-License-Identifier: Apache-2.0 */
/* A list doubles inside the arena; the outgrown one is left there. */
#include "format/messages.h"

#include <string.h>

size_t pointer_list_add(struct arena *a, struct pointer_list *list, void *item)
{
	if (!item)
		return 0;
	if (list->count == list->capacity) {
		size_t capacity = list->capacity ? list->capacity * 2 : 8;
		void **items = arena_take_array(a, capacity, sizeof(*items));

		if (!items)
			return 0;
		if (list->count)
			memcpy(items, list->items, list->count * sizeof(*items));
		list->items = items;
		list->capacity = capacity;
	}
	list->items[list->count] = item;
	return list->count++;
}
