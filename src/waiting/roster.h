/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Private to waiting: whom a pass looks at, by address: the goroutines of one process that the
 * source told and, where those outside spans count, all that there are.
 */
#ifndef WAITING_ROSTER_H
#define WAITING_ROSTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "waiting/wanted.h"

struct gobinary_info;
struct process;
struct roster;

struct roster_entry {
	uint64_t g;
	const struct wanted *own, *older; /* NULL: not told */
};

/* `all`: those outside spans, too. -ENOMEM. */
int roster_open(bool all, struct roster **out);
void roster_close(struct roster *r);
/*
 * Begins a pass; `told` is lent for it. Where the process does not tell what goroutines there
 * are, it is as the last time.
 */
void roster_begin(struct roster *r, const struct process *p, const struct gobinary_info *info,
		  uint64_t bias, const struct wanted *told, size_t told_count);
/* How many it is about: those that are told are counted again. */
size_t roster_count(const struct roster *r);
/* False: that was all. */
bool roster_next(struct roster *r, struct roster_entry *out);

#endif
