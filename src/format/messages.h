/* SPDX-License-Identifier: Apache-2.0 */
/* Private to format: protobuf-c messages and lists of them in an arena. */
#ifndef FORMAT_MESSAGES_H
#define FORMAT_MESSAGES_H

#include <stddef.h>

#include "base/arena.h"

/* A growing list of messages, as protobuf-c wants its repeated fields. */
struct pointer_list {
	void **items;
	size_t count, capacity;
};

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
