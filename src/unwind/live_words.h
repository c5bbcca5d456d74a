/* SPDX-License-Identifier: Apache-2.0 */
/* Which words of a goroutine's stack are in use: frames by pcsp, words by the stack maps. */
#ifndef UNWIND_LIVE_WORDS_H
#define UNWIND_LIVE_WORDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "unwind/unwind.h"

struct gobinary;

/* A walk along the frames of one goroutine, from the leaf outward; it only goes forward. */
struct live_words {
	struct gobinary *binary;
	uint64_t bias;
	const struct unwound_stack *stack;
	uint32_t frame;	    /* the next one of stack */
	uint64_t pc, start; /* of the frame at hand: [start, limit), limit: SP of its caller */
	uint64_t limit;
	bool exact, lost;
};

/* `stack` as unwind_sample left it, of that binary; lent. */
void live_words_begin(struct live_words *l, struct gobinary *binary, uint64_t bias,
		      const struct unwound_stack *stack);
/*
 * Whether the word at this address, not below those asked for before, holds a pointer that is in
 * use. False also where nothing is known of it.
 */
bool live_words_has(struct live_words *l, uint64_t address);
/*
 * Whether a variable that pointers may lead to begins at this address, in the frame of the word
 * last asked for.
 */
bool live_words_has_object(const struct live_words *l, uint64_t address);

#endif
