/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Private to waiting: where each goroutine of one process stood at the last look, and since when.
 * One that has not moved costs no new record: its time is added up.
 */
#ifndef WAITING_STANDS_H
#define WAITING_STANDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "waiting/records.h"

/* All that tells one stand from another. Compared as bytes: no padding. */
struct stand_key {
	uint64_t goid;
	uint64_t sp, pc;
	uint64_t top_hash; /* of the top of its stack */
	uint64_t span_address, span_id;
	uint32_t state;
	uint32_t reason;
};

struct stands;

int stands_open(struct stands **out);
void stands_close(struct stands *s);
/*
 * Adds time to the goroutine's record when it stands as it did. False: it does not, or is new;
 * what was added up until now goes to `out`.
 */
bool stands_go_on(struct stands *s, uint64_t g, const struct stand_key *key, uint64_t duration_ns,
		  struct record_list *out);
/* How it stands now. The record is taken, whatever becomes of it. */
void stands_begin(struct stands *s, uint64_t g, const struct stand_key *key,
		  struct waiting_record *record, struct record_list *out);
/*
 * At the end of a pass: lets go of those of the goroutines that `is_looked_at` that were not seen
 * in it, and hands over what was added up for longer than a second, or as many milliseconds as
 * records grow: so no more than 1,000 of them a second.
 */
void stands_end_pass(struct stands *s, bool (*is_looked_at)(void *context, uint64_t g),
		     void *context, uint64_t now_ns, struct record_list *out);
/* Hands over all. */
void stands_flush(struct stands *s, struct record_list *out);

#endif
