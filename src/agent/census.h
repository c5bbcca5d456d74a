/* SPDX-License-Identifier: Apache-2.0 */
/* Spans that are older than the attach: found once, on the stacks of all goroutines. */
#ifndef AGENT_CENSUS_H
#define AGENT_CENSUS_H

#include <stddef.h>
#include <stdint.h>

struct capture;
struct target;

#define CENSUS_RUNNING_MAX 64

struct census_result {
	size_t goroutines; /* looked at */
	size_t running;	   /* could not be: they ran. Samples find the spans on their stacks. */
	uint64_t ran[CENSUS_RUNNING_MAX]; /* the first of these */
	size_t tagged;			  /* have open spans */
	size_t unread;			  /* no room, no time, or memory that could not be read */
};

/*
 * Tells the kernel side the open spans of each goroutine that stands still. Its probes must be in
 * place: what starts later is theirs. -ENOTSUP: this program does not show where its goroutines
 * are; -ESRCH …
 */
int census_take(struct capture *capture, const struct target *target, struct census_result *out);

/* Looks at those that ran; the result is then of them alone. */
int census_take_again(struct capture *capture, const struct target *target,
		      struct census_result *out);

#endif
