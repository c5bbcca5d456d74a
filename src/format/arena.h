/* SPDX-License-Identifier: Apache-2.0 */
/* Private to format: memory that lives as long as one encoding or decoding, freed at once. */
#ifndef FORMAT_ARENA_H
#define FORMAT_ARENA_H

#include <stdbool.h>
#include <stddef.h>

struct arena_chunk;

/* Once over the cap or out of memory, `failed` stays set. */
struct arena {
	struct arena_chunk *chunks;
	size_t taken_bytes, cap_bytes;
	bool failed;
};

/* A growing list of messages, as protobuf-c wants its repeated fields. */
struct pointer_list {
	void **items;
	size_t count, capacity;
};

void arena_open(struct arena *a, size_t cap_bytes);
void arena_close(struct arena *a);
/* Zeroed, aligned for any type; NULL once failed. */
void *arena_take(struct arena *a, size_t size);
/* The same for `count` items; NULL too when the product overflows. */
void *arena_take_array(struct arena *a, size_t count, size_t item_size);
/* A message of its type's initial value; NULL once the arena failed. */
#define NEW_MESSAGE(arena, type, init)                                                             \
	({                                                                                         \
		type *new_message = arena_take(arena, sizeof(type));                               \
		if (new_message)                                                                   \
			*new_message = (type)init;                                                 \
		new_message;                                                                       \
	})

/* The item's index. A NULL item (a failed arena) is not added. */
size_t pointer_list_add(struct arena *a, struct pointer_list *list, void *item);

#endif
