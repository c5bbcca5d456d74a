/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Private to waiting: records on their way, and those that still grow. Outside spans goroutines
 * that stand alike share one, however many they are.
 */
#ifndef WAITING_RECORDS_H
#define WAITING_RECORDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "waiting/waiting.h"

/* Oldest first. */
struct record_list {
	struct waiting_record *first, **end;
	size_t bytes;
	size_t bytes_wanted; /* with more, what can wait does */
};

/* Empty; `bytes_wanted` stays. */
void record_list_open(struct record_list *l);
void record_list_add(struct record_list *l, struct waiting_record *r);
void record_list_free(struct record_list *l);
size_t waiting_record_bytes(const struct waiting_record *r);

/* A record that one goroutine, or several, add time to. */
struct growing;

/* Those of one process. All zero: none. */
struct growing_set {
	struct growing *shared; /* of those outside spans */
	size_t count, bytes;
};

/*
 * The record, which is taken, or one alike, which gets its time. NULL: there is no room, the
 * record stays the caller's.
 */
struct growing *growing_join(struct growing_set *s, struct waiting_record *record);
void growing_add(struct growing *g, uint64_t duration_ns);
/* One that joined goes. With the last, what has been added is handed over. */
void growing_leave(struct growing_set *s, struct growing *g, struct record_list *out);
/* Hands over what has been added for that long, and begins anew. */
void growing_hand_over(struct growing *g, uint64_t now_ns, uint64_t after_ns,
		       struct record_list *out);
/* The first look at a process stands for no time, and so does a record of it. */
void record_list_add_or_free(struct record_list *out, struct waiting_record *r);

#endif
