/* SPDX-License-Identifier: Apache-2.0 */
/* Rows in one growing array, found through a hash index. */
#include "profile/table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Small, since a profile has eleven tables and most files and windows fill few of them. */
#define ROWS_FIRST 32
/* The largest head a list may have (struct profile_location, with room to grow). */
#define HEAD_BYTES_MAX 64

struct key {
	const void *bytes;
	size_t size;
};

/* What same_list needs beside the head table. */
struct list_owner {
	const struct table *heads, *items;
};

int table_open(struct table *t, size_t row_size, size_t max)
{
	*t = (struct table){.row_size = row_size, .count = 1, .capacity = ROWS_FIRST};
	/* Handles are 32 bits, and the doubling below must not overflow. */
	t->max = max < UINT32_MAX / 2 ? max : UINT32_MAX / 2;
	t->rows = calloc(t->capacity, row_size);
	return t->rows ? 0 : -ENOMEM;
}

void table_close(struct table *t)
{
	handle_index_close(&t->index);
	free(t->rows);
	*t = (struct table){0};
}

void table_clear(struct table *t)
{
	handle_index_close(&t->index);
	t->count = 1;
}

void *table_row(const struct table *t, uint32_t handle)
{
	return t->rows + (size_t)handle * t->row_size;
}

/* Room for so many more rows; may move them, so row pointers end here. */
static int make_room(struct table *t, size_t rows)
{
	size_t capacity = t->capacity;
	uint8_t *bigger;

	if (rows > t->max || t->count - 1 > t->max - rows)
		return -ENOSPC;
	while (t->count + rows > capacity)
		capacity *= 2;
	if (capacity == t->capacity)
		return 0;
	bigger = realloc(t->rows, capacity * t->row_size);
	if (!bigger)
		return -ENOMEM;
	t->rows = bigger;
	t->capacity = capacity;
	return 0;
}

static void append(struct table *t, const void *rows, size_t count)
{
	if (count)
		memcpy(table_row(t, (uint32_t)t->count), rows, count * t->row_size);
	t->count += count;
}

/* Rows beyond the key (counts) may differ. */
static bool same_key(const void *owner, uint32_t handle, const void *key)
{
	const struct key *k = key;

	return !memcmp(table_row(owner, handle), k->bytes, k->size);
}

uint32_t table_find(const struct table *t, const void *key, size_t key_size)
{
	struct key k = {.bytes = key, .size = key_size};

	return handle_index_find(&t->index, handle_hash(key, key_size), same_key, t, &k);
}

int table_intern(struct table *t, const void *row, size_t key_size, uint32_t *handle)
{
	*handle = 0;
	if (!memcmp(row, t->rows, key_size))
		return 0;
	return table_intern_row(t, row, key_size, handle);
}

int table_intern_row(struct table *t, const void *row, size_t key_size, uint32_t *handle)
{
	int err;

	*handle = table_find(t, row, key_size);
	if (*handle)
		return 0;
	err = make_room(t, 1);
	if (!err)
		err = handle_index_add(&t->index, handle_hash(row, key_size), (uint32_t)t->count);
	if (err)
		return err;
	*handle = (uint32_t)t->count;
	append(t, row, 1);
	return 0;
}

static bool same_list(const void *owner, uint32_t handle, const void *key)
{
	const struct list_owner *tables = owner;
	const struct table_list *list = key;
	uint8_t head[HEAD_BYTES_MAX];
	uint32_t first;

	memcpy(head, table_row(tables->heads, handle), tables->heads->row_size);
	memcpy(&first, head + list->first_offset, sizeof(first));
	memset(head + list->first_offset, 0, sizeof(first));
	/* Equal heads have equal counts, so the run below is as long as the list. */
	return !memcmp(head, list->head, tables->heads->row_size) &&
	       (!list->item_count || !memcmp(table_row(tables->items, first), list->items,
					     list->item_count * tables->items->row_size));
}

static uint64_t hash_list(const struct table *heads, const struct table *items,
			  const struct table_list *list)
{
	uint64_t hash = handle_hash(list->head, heads->row_size);

	if (list->item_count)
		hash ^= handle_hash(list->items, list->item_count * items->row_size) * 31;
	return hash;
}

static uint32_t find_list(const struct table *heads, const struct table *items,
			  const struct table_list *list, uint64_t hash)
{
	struct list_owner owner = {.heads = heads, .items = items};

	return handle_index_find(&heads->index, hash, same_list, &owner, list);
}

/* A head with its items behind all others; there is room for them. */
static void put_list(struct table *heads, struct table *items, const struct table_list *list,
		     uint32_t handle)
{
	uint32_t first = list->item_count ? (uint32_t)items->count : 0;
	uint8_t *row = table_row(heads, handle);

	memcpy(row, list->head, heads->row_size);
	memcpy(row + list->first_offset, &first, sizeof(first));
	append(items, list->items, list->item_count);
}

int table_intern_list(struct table *heads, struct table *items, const struct table_list *list,
		      uint32_t *handle)
{
	uint64_t hash = hash_list(heads, items, list);
	int err;

	*handle = 0;
	if (!list->item_count && !memcmp(list->head, heads->rows, heads->row_size))
		return 0;
	*handle = find_list(heads, items, list, hash);
	if (*handle)
		return 0;
	err = make_room(heads, 1);
	if (!err)
		err = make_room(items, list->item_count);
	if (!err)
		err = handle_index_add(&heads->index, hash, (uint32_t)heads->count);
	if (err)
		return err;
	*handle = (uint32_t)heads->count++;
	put_list(heads, items, list, *handle);
	return 0;
}

/* The index keeps its entry for what was, too: no head is equal to that any more. */
int table_replace_list(struct table *heads, struct table *items, const struct table_list *was,
		       const struct table_list *is)
{
	uint32_t handle = find_list(heads, items, was, hash_list(heads, items, was));
	int err = handle ? make_room(items, is->item_count) : -ENOENT;

	if (!err)
		err = handle_index_add(&heads->index, hash_list(heads, items, is), handle);
	if (!err)
		put_list(heads, items, is, handle);
	return err;
}
