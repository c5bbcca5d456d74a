/* SPDX-License-Identifier: Apache-2.0 */
/* Memory that is given back all at once: of one encoding, one decoding, one cache. */
#ifndef BASE_ARENA_H
#define BASE_ARENA_H

#include <stdbool.h>
#include <stddef.h>

struct arena_chunk;

/* Once over the cap or out of memory, `failed` stays set. */
struct arena {
	struct arena_chunk *chunks;
	size_t taken_bytes, cap_bytes;
	bool failed;
};

void arena_open(struct arena *a, size_t cap_bytes);
/* Frees all that was taken and forgets a failure; the cap stays. */
void arena_reset(struct arena *a);
void arena_close(struct arena *a);
/* Zeroed, aligned for any type; NULL once failed. */
void *arena_take(struct arena *a, size_t size);
/* The same for `count` items; NULL too when the product overflows. */
void *arena_take_array(struct arena *a, size_t count, size_t item_size);

#endif
