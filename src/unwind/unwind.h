/* SPDX-License-Identifier: Apache-2.0 */
/* unwind: a raw sample → exact program counters. */
#ifndef UNWIND_UNWIND_H
#define UNWIND_UNWIND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sample_record;
struct gobinary;

#define UNWIND_FRAMES_MAX 1024

/* Leaf first. pcs[0] is exact; all others are return addresses unless exact[] says otherwise. */
struct unwound_stack {
	uint32_t kernel_count; /* the first so many pcs are kernel addresses */
	uint32_t count;	       /* all */
	bool truncated;	 /* frames are missing: at gap_at, when it is not 0, else at the root */
	uint32_t gap_at; /* index of the first frame behind those that are missing */
	uint64_t pcs[UNWIND_FRAMES_MAX];
	bool exact[UNWIND_FRAMES_MAX]; /* the address itself executed: leaf, signal or g0 hand-over
					*/
	/* Where the goroutine's own stack begins; goroutine_pc 0: not known. */
	uint64_t goroutine_pc, goroutine_sp;
	bool goroutine_exact;
	uint32_t goroutine_at; /* index of the frame that called goroutine_pc's */
};

struct unwind_stats {
	uint64_t stacks;
	uint64_t truncated;
	uint64_t repaired; /* frames added or replaced by pcsp */
	uint64_t without_chain;
};

/* `binary` may be NULL (not Go): chain alone. `bias`: load bias of the executable. */
void unwind_sample(const struct sample_record *sample, struct gobinary *binary, uint64_t bias,
		   struct unwound_stack *out, struct unwind_stats *stats);

#endif
