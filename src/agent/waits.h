/* SPDX-License-Identifier: Apache-2.0 */
/* Where goroutines, those with open spans or all, wait: what is looked at, and on which way the
 * looks go. */
#ifndef AGENT_WAITS_H
#define AGENT_WAITS_H

#include <stdbool.h>
#include <stdint.h>

#include "waiting/waiting.h"

struct capture;
struct log;
struct options;
struct pipeline;
struct target;
struct targets;
struct waits;

/* Everything is lent. `*out` NULL: not wanted, and all below do nothing. -ENOMEM … */
int waits_open(const struct options *options, const struct log *log, struct capture *capture,
	       struct waits **out);
/* False: its thread hangs in a read, and goes on using the capture. */
bool waits_close(struct waits *w);
/* Where what is seen goes, from here on; NULL: it is dropped. */
void waits_begin(struct waits *w, struct targets *targets, struct pipeline *pipeline);
/*
 * A target is attached, with spans or without, or let go of: then what was seen of it until now is
 * handed over.
 */
void waits_add(struct waits *w, const struct target *target, bool has_spans);
void waits_remove(struct waits *w, uint32_t generation);
/* Hands over what has been seen, at each tick. */
void waits_take(struct waits *w);
/* All of it, at the end. */
void waits_finish(struct waits *w);
void waits_get_stats(struct waits *w, struct waiting_stats *out);

#endif
