/* SPDX-License-Identifier: Apache-2.0 */
/*
 * For whom a blocked goroutine may wait. A Go lock does not say who holds it, nor a channel who is
 * to send. By this rule some goroutines are candidates, and no more than that:
 *
 * Let F be the function that uses the lock or channel: the innermost one of the blocked goroutine's
 * stack that lies outside runtime, internal/… and sync. (A closure is a part of the function it is
 * written in.) Candidates are
 *   1. the goroutines that stand in F, too, at another place or for another reason: whoever has
 *      got behind the Lock is there, or whoever is to send;
 *   2. where there are none, and it waits for a lock: those that wait for a lock at the same place,
 *      then those that wait for one in other functions. Two that take two locks in opposite order
 *      are each other's.
 */
#ifndef AGENT_WAIT_CANDIDATES_H
#define AGENT_WAIT_CANDIDATES_H

#include <stddef.h>
#include <stdint.h>

struct frame;
struct wait_candidates;

#define WAIT_CANDIDATES_MAX 3 /* named of one; the others are counted */

/* What a goroutine waits for. */
enum wait_for {
	WAIT_FOR_NOTHING, /* that another goroutine might have: it sleeps, reads, runs */
	WAIT_FOR_LOCK,
	WAIT_FOR_SIGNAL, /* channel, condition, group */
};

/* One of them; both are lent. A frame's address stands for its place: one for each place. */
struct standing {
	const struct frame *const *frames; /* leaf first */
	size_t frame_count;
	const char *reason; /* why it waits, in the runtime's words; "" it does not */
};

/* A candidate. */
struct wait_candidate {
	uint32_t index; /* among those standing */
	const struct frame *at;
};

enum wait_for wait_reason_kind(const char *reason);
/* F of a goroutine, whatever it does; NULL none. */
const struct frame *standing_user(const struct standing *s);
/* `all`, lent, are in order of preference. -ENOMEM */
int wait_candidates_open(const struct standing *all, size_t count, struct wait_candidates **out);
void wait_candidates_close(struct wait_candidates *c);
/* Of one of them; returns how many there are, of which at most WAIT_CANDIDATES_MAX are filled in.
 */
size_t wait_candidates_find(const struct wait_candidates *c, size_t index,
			    struct wait_candidate found[WAIT_CANDIDATES_MAX]);

#endif
