/* SPDX-License-Identifier: Apache-2.0 */
/* A hash index over rows that somebody else keeps: from a hash to the row's handle (never 0). */
#ifndef BASE_HANDLE_INDEX_H
#define BASE_HANDLE_INDEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct handle_slot {
	uint32_t hash;
	uint32_t handle; /* 0: free */
};

/* All zero is a valid empty index. Rows are never taken out one by one. */
struct handle_index {
	struct handle_slot *slots;
	size_t capacity; /* a power of two, or 0 */
	size_t count;
};

/* Whether the row behind `handle` equals `key`; `owner` is the keeper of the rows. */
typedef bool (*handle_same_fn)(const void *owner, uint32_t handle, const void *key);

uint64_t handle_hash(const void *data, size_t size);
/* The handle of the equal row, 0 when there is none. */
uint32_t handle_index_find(const struct handle_index *index, uint64_t hash, handle_same_fn same,
			   const void *owner, const void *key);
/* Adds a row that find did not find. -ENOMEM leaves the index as it was. */
int handle_index_add(struct handle_index *index, uint64_t hash, uint32_t handle);
void handle_index_close(struct handle_index *index);

#endif
