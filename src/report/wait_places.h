/* SPDX-License-Identifier: Apache-2.0 */
/* Where in the program, and for what, goroutines were on no CPU. */
#ifndef REPORT_WAIT_PLACES_H
#define REPORT_WAIT_PLACES_H

#include <stddef.h>
#include <stdint.h>

#include "report/hot_lines.h"
#include "report/report_view.h"

struct wait_place {
	enum profile_wait_kind kind;
	uint32_t state; /* row of functions, 0 unknown */
	struct stack_frame at;
	uint64_t ns;
};

/* Kinds that a place is asked for. */
#define WAIT_PLACES_ALL	    ((1u << PROFILE_WAIT_KINDS) - 1)
#define WAIT_PLACES_WAITING (1u << PROFILE_WAIT_PARKED | 1u << PROFILE_WAIT_SYSCALL)

/* Of a row of waits. */
struct wait_place wait_places_get(const struct report_view *v, uint32_t row);
/* Adds up those that are alike; how many are left, in the order of their time, most first. */
size_t wait_places_unite(struct wait_place *places, size_t count);
/* Of these the one with the most time. Zero: no place. */
struct wait_place wait_places_largest(struct wait_place *places, size_t count);
/* The same among rows of waits of these kinds. -ENOMEM. */
int wait_places_find(const struct report_view *v, const uint32_t *rows, size_t row_count,
		     unsigned kinds, struct wait_place *out);
/* "chan receive in main.fetch store.go:31", with less of it within fewer columns. */
void wait_places_text(const struct report_view *v, const struct wait_place *place, size_t columns,
		      char *to, size_t size);

#endif
