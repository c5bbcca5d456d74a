/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Private to waiting: some dozen goroutines of a process, read together. What has not changed
 * between the first and the last of the reads belongs together.
 */
#ifndef WAITING_LOOKS_H
#define WAITING_LOOKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <spanprof/record.h>

#include "process/goroutines.h"
#include "process/remote_pieces.h"
#include "process/span_memory.h"
#include "waiting/parked_stack.h"
#include "waiting/roster.h"

struct gobinary_info;
struct process;

#define LOOKS_MAX	    64
#define LOOK_SPAN_BYTES_MAX 1024

/* What is known of a goroutine's span. */
enum look_span { LOOK_SEARCHES, LOOK_NONE, LOOK_OPEN, LOOK_UNREADABLE, LOOK_UNSAMPLED };

struct look {
	struct roster_entry entry;
	uint32_t own_left, older_left; /* of its spans, still to be looked at; innermost first */
	enum look_span span_is;
	enum span_source source;
	uint8_t level;
	struct waiting_span told; /* the one at hand; all zero: none */
	struct span_memory span;
	struct goroutine_state g;
	bool moved;	       /* between the reads */
	struct parked_top top; /* count 0: it runs, or its stack cannot be read */
};

struct looks {
	const struct process *process;
	const struct gobinary_info *info;
	bool outside; /* goroutines outside spans count, too */
	struct look all[LOOKS_MAX];
	size_t count;
	/* Of the reads: */
	uint64_t addresses[LOOKS_MAX];
	struct goroutine_state states[LOOKS_MAX];
	struct remote_piece pieces[LOOKS_MAX];
	uint8_t span_bytes[LOOKS_MAX][LOOK_SPAN_BYTES_MAX];
};

/* Begins with none, of this process; both are lent. `outside`: goroutines without a span count. */
void looks_begin(struct looks *l, const struct process *p, const struct gobinary_info *info,
		 bool outside);
/* The next goroutine; what was told of it is lent. False: full. */
bool looks_add(struct looks *l, const struct roster_entry *entry);
/* Of those that have been read, the i-th is to be read again, as the n-th, n <= i. */
void looks_again(struct looks *l, size_t i, size_t n);
/* Reads all. `spans`: those of the list. -ESRCH: nothing counts; -ENOTSUP. */
int looks_read(struct looks *l, const struct waiting_span *spans);
/* Whether it works for a span that may be told. */
bool look_has_span(const struct look *look);
/* Whether what it does is wanted. */
bool look_counts(const struct looks *l, const struct look *look);
/* Whether its stack is where its runtime.g says: not that of one that runs. */
bool look_has_stack(const struct look *look);
/* Whether it, and the top of its stack, are still as they were. */
bool look_is_still(const struct looks *l, const struct look *look);

#endif
