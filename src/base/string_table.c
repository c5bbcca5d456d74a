/* SPDX-License-Identifier: Apache-2.0 */
/* Interned strings: text in chunks that never move, found by hash. */
#include "base/string_table.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/handle_index.h"
#include "base/string_clean.h"

#define CHUNK_BYTES 16384
/* Longest string kept; generic Go symbols reach a few KiB. The rest is cut at a character. */
#define STRING_BYTES_MAX 16384
/* What an entry costs beside its text: pointer, length, two slots. */
#define ENTRY_BYTES 32

struct chunk {
	struct chunk *next;
	size_t used, size;
	char text[];
};

struct entry {
	const char *text;
	size_t size;
};

struct string_table {
	size_t cap_bytes, used_bytes;
	struct chunk *chunks; /* the newest first */
	struct entry *entries;
	uint32_t count, capacity;
	struct handle_index index;
	uint64_t dropped;
};

int string_table_open(size_t cap_bytes, struct string_table **out)
{
	struct string_table *t = calloc(1, sizeof(*t));

	if (!t)
		return -ENOMEM;
	t->capacity = 64;
	t->entries = malloc(t->capacity * sizeof(*t->entries));
	if (!t->entries) {
		free(t);
		return -ENOMEM;
	}
	t->entries[0] = (struct entry){.text = ""};
	t->count = 1;
	t->cap_bytes = cap_bytes;
	*out = t;
	return 0;
}

void string_table_close(struct string_table *t)
{
	if (!t)
		return;
	while (t->chunks) {
		struct chunk *next = t->chunks->next;

		free(t->chunks);
		t->chunks = next;
	}
	handle_index_close(&t->index);
	free(t->entries);
	free(t);
}

/* Room for `size` bytes that stays where it is; NULL out of memory. */
static char *take_room(struct string_table *t, size_t size)
{
	struct chunk *c = t->chunks;

	if (!c || c->size - c->used < size) {
		size_t chunk_size = size > CHUNK_BYTES ? size : CHUNK_BYTES;

		c = malloc(sizeof(*c) + chunk_size);
		if (!c)
			return NULL;
		*c = (struct chunk){.next = t->chunks, .size = chunk_size};
		t->chunks = c;
	}
	c->used += size;
	return c->text + c->used - size;
}

static bool same_text(const void *owner, uint32_t handle, const void *key)
{
	const struct entry *a = &((const struct string_table *)owner)->entries[handle];
	const struct entry *b = key;

	return a->size == b->size && !memcmp(a->text, b->text, b->size);
}

static int grow_entries(struct string_table *t)
{
	struct entry *entries;

	if (t->count < t->capacity)
		return 0;
	if (t->capacity > UINT32_MAX / 2)
		return -ENOSPC;
	entries = realloc(t->entries, 2 * (size_t)t->capacity * sizeof(*entries));
	if (!entries)
		return -ENOMEM;
	t->entries = entries;
	t->capacity *= 2;
	return 0;
}

static uint32_t add_clean(struct string_table *t, const char *text, size_t size)
{
	struct entry key = {.text = text, .size = size};
	uint64_t hash = handle_hash(text, size);
	uint32_t id = handle_index_find(&t->index, hash, same_text, t, &key);
	char *kept;

	if (id)
		return id;
	if (t->used_bytes + size + 1 + ENTRY_BYTES > t->cap_bytes || grow_entries(t))
		goto drop;
	kept = take_room(t, size + 1);
	if (!kept || handle_index_add(&t->index, hash, t->count))
		goto drop;
	memcpy(kept, text, size);
	kept[size] = '\0';
	t->used_bytes += size + 1 + ENTRY_BYTES;
	t->entries[t->count] = (struct entry){.text = kept, .size = size};
	return t->count++;
drop:
	t->dropped++;
	return 0;
}

uint32_t string_table_add(struct string_table *t, const char *text, size_t size)
{
	char cleaned[STRING_BYTES_MAX + 1];

	if (!size)
		return 0;
	if (size <= STRING_BYTES_MAX && string_is_clean(text, size))
		return add_clean(t, text, size);
	size = string_clean(cleaned, sizeof(cleaned), text, size);
	return add_clean(t, cleaned, size);
}

const char *string_table_get(const struct string_table *t, uint32_t id)
{
	return id < t->count ? t->entries[id].text : "";
}

uint32_t string_table_count(const struct string_table *t)
{
	return t->count;
}

uint64_t string_table_dropped(const struct string_table *t)
{
	return t->dropped;
}
