/* SPDX-License-Identifier: Apache-2.0 */
/* The stack of a goroutine that does not run, as a sample's record has it. */
#ifndef WAITING_PARKED_STACK_H
#define WAITING_PARKED_STACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <spanprof/record.h>

struct gobinary_info;
struct goroutine_state;
struct process;

#define PARKED_TOP_WORDS 128 /* that tell whether it has moved, and hold most short stacks */
#define PARKED_WORDS_MAX (RECORD_CHAIN_MAX + RECORD_ROOT_MAX + PARKED_TOP_WORDS)

/* Words of its stack from where it was left; fewer than PARKED_TOP_WORDS where it ends before. */
struct parked_top {
	size_t count;
	uint64_t words[PARKED_TOP_WORDS];
};

/* Bytes of the top of its stack that are to be read from g->sp on. */
size_t parked_top_bytes(const struct goroutine_state *g);

/*
 * Fills the record's curg_* fields, flags and words, for which it has room for PARKED_WORDS_MAX,
 * and its size; the other fields stay. What lies beyond the top is read now. `bias`: of the
 * executable. Words of the stack are kept where frame pointers alone do not tell all frames. A
 * stack that cannot be read, or is deeper than a record holds, is cut and flagged; of a deeper one
 * the outermost frames are there, too.
 */
void parked_stack_fill(const struct process *p, const struct gobinary_info *info, uint64_t bias,
		       const struct goroutine_state *g, const struct parked_top *top,
		       struct sample_record *record);

#endif
