/* SPDX-License-Identifier: Apache-2.0 */
/* Private to waiting: what the source told in one go, in the order in which memory is read. */
#ifndef WAITING_WANTED_H
#define WAITING_WANTED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "waiting/waiting.h"

struct wanted {
	uint32_t generation;
	bool older, inherited;
	uint64_t g, goid;
	uint32_t first_span, span_count; /* in the list's spans, outermost first */
};

/* Ordered by generation, address of g, older ones last. All zero: empty. */
struct wanted_list {
	struct wanted *entries;
	size_t count, capacity;
	struct waiting_span *spans;
	size_t span_count, span_capacity;
	bool full; /* something found no room */
};

/* Asks the source anew. A negative errno, then the list is empty. */
int wanted_list_fill(struct wanted_list *list, const struct waiting_source *source);
void wanted_list_close(struct wanted_list *list);
/* The entries of one generation; their number. */
size_t wanted_list_find(const struct wanted_list *list, uint32_t generation,
			const struct wanted **first);

#endif
