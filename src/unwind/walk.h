/* SPDX-License-Identifier: Apache-2.0 */
/* Private to unwind: one stack, frame by frame, from some registers. */
#ifndef UNWIND_WALK_H
#define UNWIND_WALK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <spanprof/record.h>

#include "unwind/stack_words.h"
#include "unwind/unwind.h"

struct gobinary_info;
struct pclntab;

/* Where a walk stands, and what was captured for it. */
struct cursor {
	uint64_t pc, sp, fp, lr;
	bool exact;	  /* pc itself executes; else it is a return address */
	bool hide_first;  /* the first frame stands for a stack switch: a helper of the runtime */
	bool interrupted; /* a signal handler's: the registers it interrupted are known */
	size_t depth;	  /* frames stepped over by pcsp */
	struct stack_words window;
	const __u64 *chain; /* return addresses along frame pointers from fp */
	size_t chain_count;
	size_t sized; /* so many of the chain are walked by pcsp all the same */
	/* Of the outermost ones, when the chain is cut: a ring, from root_first on. */
	const __u64 *root;
	size_t root_count, root_first;
};

enum walk_end {
	WALK_WHOLE,   /* reached the goroutine's or thread's outermost frame */
	WALK_LOST,    /* no way on */
	WALK_SWITCH,  /* at a function that changed stacks: go on at the goroutine's registers */
	WALK_FOREIGN, /* left Go code for code that keeps no frame pointers */
	WALK_SIGNAL,  /* at a signal handler's entry: go on at what it interrupted */
	WALK_STOP,    /* at a function behind which saved registers mean nothing */
};

struct walker {
	const struct gobinary_info *info; /* NULL: not Go */
	struct pclntab *table;
	uint64_t bias;
	struct unwound_stack *out;
	struct unwind_stats *stats;
	bool by_size;	      /* the frame at hand was found by pcsp: its own size is known */
	size_t switch_at;     /* frames up to the last stack switch, that one included; 0: none */
	bool has_saved;	      /* the goroutine's own registers are known, too */
	bool in_call;	      /* they are those of a system call, or of a call of C */
	bool leaf_at_home;    /* the thread runs on the goroutine's own stack */
	bool leaf_has_moved;  /* it changes SP: the saved registers are those of its caller */
	bool switch_is_pause; /* the switch saved a helper's pc: hide_first */
};

bool walk_in_text(const struct walker *w, uint64_t pc);
/* Adds a frame; false: there is no room. */
bool walk_emit(struct walker *w, uint64_t pc, bool exact);
/* Adds all frames of the stack from the cursor on, as far as they are known. */
enum walk_end walk(struct walker *w, struct cursor *c);

#endif
