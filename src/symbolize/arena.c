/* SPDX-License-Identifier: Apache-2.0 */
/* Chunks of 32 KiB, filled one after the other. */
#include "symbolize/arena.h"

#include <stdint.h>
#include <stdlib.h>

#define CHUNK_BYTES ((size_t)32768)

struct arena_chunk {
	struct arena_chunk *next;
	size_t size, used;
	uint64_t memory[];
};

void *arena_take(struct arena *a, size_t size)
{
	struct arena_chunk *c = a->chunks;
	size_t chunk_size;

	if (size > SIZE_MAX / 2)
		return NULL;
	size = (size + 7) & ~(size_t)7;
	if (!c || c->size - c->used < size) {
		chunk_size = size > CHUNK_BYTES ? size : CHUNK_BYTES;
		if (a->bytes > a->cap_bytes || chunk_size > a->cap_bytes - a->bytes)
			return NULL;
		c = calloc(1, sizeof(*c) + chunk_size);
		if (!c)
			return NULL;
		c->size = chunk_size;
		c->next = a->chunks;
		a->chunks = c;
		a->bytes += chunk_size;
	}
	c->used += size;
	return (char *)c->memory + c->used - size;
}

void arena_reset(struct arena *a)
{
	while (a->chunks) {
		struct arena_chunk *next = a->chunks->next;

		free(a->chunks);
		a->chunks = next;
	}
	a->bytes = 0;
}
