/* SPDX-License-Identifier: Apache-2.0 */
/* Private to waiting: one process image that is looked at, and a look at its goroutines. */
#ifndef WAITING_WATCHED_H
#define WAITING_WATCHED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "waiting/stands.h"
#include "waiting/wanted.h"
#include "waiting/waiting.h"

struct gobinary_info;
struct looks;
struct watched;

#define WATCHED_SHARE_MAX 64 /* a power of two, as all shares are */

/*
 * `info` is lent for as long. `outside`: goroutines outside spans, too. `since_ns` (monotonic): the
 * first looks stand for the time since then; 0: for none. -ESRCH, -ENOMEM …
 */
int watched_open(uint32_t generation, pid_t pid, const struct gobinary_info *info, uint64_t bias,
		 bool outside, uint64_t since_ns, struct watched **out);
/* One pass: `looks` is scratch memory, whatever is in it. */
struct watched_pass {
	const struct wanted_list *list;
	struct looks *looks;
	unsigned share;
	struct record_list *out;
	struct waiting_stats *stats;
};

void watched_close(struct watched *w);
/*
 * Looks at one in `pass->share` of its goroutines, or at all where they are few, each time at
 * others. What they do stands for the time since they were looked at last, but in a span that is
 * younger for no more than its age, or 100 ms; what is complete goes to `pass->out`. -ESRCH: the
 * process has ended.
 */
int watched_look(struct watched *w, const struct watched_pass *pass);
/* In how many looks all have had their turn. */
unsigned watched_turns(const struct watched *w);
/* Hands over what has been added up. */
void watched_flush(struct watched *w, struct record_list *out);

#endif
