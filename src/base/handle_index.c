/* SPDX-License-Identifier: Apache-2.0 */
/* Open addressing with linear probing: 8 bytes a slot, at most three quarters full. */
#include "base/handle_index.h"

#include <errno.h>
#include <stdlib.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#define SLOTS_MIN 16

uint64_t handle_hash(const void *data, size_t size)
{
	return XXH3_64bits(data, size);
}

/* 32 bits are kept in the slot, so that growing needs no look at the rows. */
static uint32_t short_hash(uint64_t hash)
{
	return (uint32_t)(hash ^ (hash >> 32));
}

uint32_t handle_index_find(const struct handle_index *index, uint64_t hash, handle_same_fn same,
			   const void *owner, const void *key)
{
	uint32_t wanted = short_hash(hash);
	size_t mask = index->capacity - 1;

	if (!index->capacity)
		return 0;
	for (size_t at = wanted & mask;; at = (at + 1) & mask) {
		const struct handle_slot *slot = &index->slots[at];

		if (!slot->handle)
			return 0;
		if (slot->hash == wanted && same(owner, slot->handle, key))
			return slot->handle;
	}
}

static void place(struct handle_slot *slots, size_t capacity, struct handle_slot slot)
{
	size_t at = slot.hash & (capacity - 1);

	while (slots[at].handle)
		at = (at + 1) & (capacity - 1);
	slots[at] = slot;
}

static int grow(struct handle_index *index)
{
	size_t capacity = index->capacity ? index->capacity * 2 : SLOTS_MIN;
	struct handle_slot *slots = calloc(capacity, sizeof(*slots));

	if (!slots)
		return -ENOMEM;
	for (size_t i = 0; i < index->capacity; i++)
		if (index->slots[i].handle)
			place(slots, capacity, index->slots[i]);
	free(index->slots);
	index->slots = slots;
	index->capacity = capacity;
	return 0;
}

int handle_index_add(struct handle_index *index, uint64_t hash, uint32_t handle)
{
	struct handle_slot slot = {.hash = short_hash(hash), .handle = handle};

	if ((index->count + 1) * 4 > index->capacity * 3) {
		int err = grow(index);

		if (err)
			return err;
	}
	place(index->slots, index->capacity, slot);
	index->count++;
	return 0;
}

void handle_index_close(struct handle_index *index)
{
	free(index->slots);
	*index = (struct handle_index){0};
}
