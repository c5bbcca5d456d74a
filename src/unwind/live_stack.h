/* SPDX-License-Identifier: Apache-2.0 */
/* The stack of a goroutine that stands still: which of its words are in use. */
#ifndef UNWIND_LIVE_STACK_H
#define UNWIND_LIVE_STACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "gobinary/pclntab.h"
#include "unwind/stack_words.h"

struct gobinary;

/* A copy of a goroutine's stack from where it was left. */
struct still_stack {
	uint64_t pc; /* a return address in the innermost frame's function, or its beginning */
	struct stack_words words;
};

/* One of its words. */
struct live_word {
	uint64_t address, word;
	bool used;	/* a live pointer */
	uint64_t pc;	/* of the frame it lies in, in the file; a return address */
	uint64_t limit; /* SP of that frame's caller */
};

#define LIVE_STACK_MEMO 4096 /* a power of two */

/* What has been found out of one executable's frames: many stacks are alike. All zero: nothing. */
struct live_stack_memo {
	struct {
		uint64_t inside; /* the frame: an address in the file; 0 none */
		int32_t delta;	 /* < 0: the stack ends there */
	} sizes[LIVE_STACK_MEMO];
	struct {
		uint64_t pc; /* of the frame, in the file; 0 none */
		int64_t below;
		enum pointer_slot slot;
	} words[LIVE_STACK_MEMO];
};

/* What is asked for, and who takes it. */
struct live_stack_query {
	void *context;
	bool (*is_wanted)(void *context, uint64_t word); /* cheap: asked of every word */
	void (*take)(void *context, const struct live_word *word);
	/* Each frame, before its words; `exact`: its pc is no return address. NULL: not wanted. */
	void (*enter)(void *context, uint64_t pc, bool exact);
	struct live_stack_memo *memo; /* NULL: none */
};

/*
 * Innermost frame first. Ends at the outermost frame or where a frame cannot be told. Of a function
 * that was interrupted between any two instructions no word is known to be in use; true when there
 * is one.
 */
bool live_stack_each(struct gobinary *binary, uint64_t bias, const struct still_stack *stack,
		     const struct live_stack_query *query);

#endif
