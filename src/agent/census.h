/* SPDX-License-Identifier: Apache-2.0 */
/* Spans that are older than the attach: found on the stacks of all goroutines. */
#ifndef AGENT_CENSUS_H
#define AGENT_CENSUS_H

#include <stddef.h>
#include <stdint.h>

struct capture;
struct target;

/* One of a process. All zero: none is under way. */
struct census {
	uint64_t *list, *ran; /* addresses of runtime.g's */
	size_t left;	      /* of the list, not looked at yet */
	size_t running;	      /* could not be: they ran. They have their turn in the next round */
	/* Of the others: */
	size_t goroutines; /* looked at */
	size_t tagged;	   /* have open spans */
	size_t unstored;   /* have, but there was no room for them in the store */
	uint64_t span;	   /* address of one of those spans; 0 none */
};

/*
 * Lists the goroutines. `out` is the caller's to end. -ENOTSUP: this program does not show where
 * its goroutines are; -ESRCH …
 */
int census_begin(const struct target *target, struct census *out);
/*
 * Tells the kernel side the open spans of each goroutine that stands still, for as long (ns) as
 * there is time; where none is left, of those that ran. The process's probes must be in place: what
 * starts later is theirs.
 */
int census_look(struct capture *capture, const struct target *target, struct census *census,
		uint64_t budget_ns);
/* Frees the lists; the figures stay, but those of what is left. */
void census_end(struct census *census);

#endif
