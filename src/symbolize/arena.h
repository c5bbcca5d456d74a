/* SPDX-License-Identifier: Apache-2.0 */
/* Private to symbolize: memory that is given back all at once. */
#ifndef SYMBOLIZE_ARENA_H
#define SYMBOLIZE_ARENA_H

#include <stddef.h>

struct arena_chunk;

/* All zero but the cap is a valid empty arena. */
struct arena {
	struct arena_chunk *chunks;
	size_t bytes; /* of all chunks */
	size_t cap_bytes;
};

/* Zeroed, 8-aligned; NULL over the cap or out of memory. */
void *arena_take(struct arena *a, size_t size);
void arena_reset(struct arena *a);

#endif
