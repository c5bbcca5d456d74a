/* SPDX-License-Identifier: Apache-2.0 */
/* Chunks of growing size; nothing is freed before the end. */
#include "base/arena.h"

#include <stdalign.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define CHUNK_BYTES_FIRST 4096
#define CHUNK_BYTES_MAX	  (1 << 20)

struct arena_chunk {
	struct arena_chunk *next;
	size_t used, size;
	alignas(max_align_t) char memory[];
};

void arena_open(struct arena *a, size_t cap_bytes)
{
	*a = (struct arena){.cap_bytes = cap_bytes};
}

void arena_reset(struct arena *a)
{
	while (a->chunks) {
		struct arena_chunk *next = a->chunks->next;

		free(a->chunks);
		a->chunks = next;
	}
	a->taken_bytes = 0;
	a->failed = false;
}

void arena_close(struct arena *a)
{
	arena_reset(a);
}

static struct arena_chunk *new_chunk(struct arena *a, size_t size)
{
	size_t wanted = a->chunks ? a->chunks->size * 2 : CHUNK_BYTES_FIRST;
	struct arena_chunk *c;

	if (wanted > CHUNK_BYTES_MAX)
		wanted = CHUNK_BYTES_MAX;
	if (wanted < size)
		wanted = size;
	c = malloc(sizeof(*c) + wanted);
	if (!c)
		return NULL;
	c->next = a->chunks;
	c->used = 0;
	c->size = wanted;
	a->chunks = c;
	return c;
}

void *arena_take(struct arena *a, size_t size)
{
	struct arena_chunk *c = a->chunks;
	void *memory;

	if (a->failed)
		return NULL;
	if (size > a->cap_bytes - a->taken_bytes)
		goto fail;
	size = (size + alignof(max_align_t) - 1) & ~(alignof(max_align_t) - 1);
	if (size > a->cap_bytes - a->taken_bytes)
		goto fail;
	if (!c || c->size - c->used < size)
		c = new_chunk(a, size);
	if (!c)
		goto fail;
	memory = c->memory + c->used;
	c->used += size;
	a->taken_bytes += size;
	return memset(memory, 0, size);
fail:
	a->failed = true;
	return NULL;
}

void *arena_take_array(struct arena *a, size_t count, size_t item_size)
{
	if (item_size && count > SIZE_MAX / item_size) {
		a->failed = true;
		return NULL;
	}
	return arena_take(a, count * item_size);
}
