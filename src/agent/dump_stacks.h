/* SPDX-License-Identifier: Apache-2.0 */
/* Where goroutines with open spans stand, in words. */
#ifndef AGENT_DUMP_STACKS_H
#define AGENT_DUMP_STACKS_H

#include <stddef.h>

#include "agent/wait_candidates.h"

struct gobinary;
struct open_spans;
struct symbolizer;

struct dump_stacks {
	struct standing *all; /* one for each goroutine, in their order */
	const struct frame **frames;
};

/*
 * Frames are lent from the symbolizer, of whose images `key` is the process. Without the runtime's
 * own way to park a goroutine, as runtime/pprof leaves it out.
 */
int dump_stacks_read(const struct open_spans *spans, const struct gobinary *binary,
		     struct symbolizer *symbolizer, uint32_t key, struct dump_stacks *out);
void dump_stacks_close(struct dump_stacks *s);

#endif
