/* SPDX-License-Identifier: Apache-2.0 */
/* The open spans that the stack of a goroutine leads to. */
#ifndef AGENT_STACK_SPANS_H
#define AGENT_STACK_SPANS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "process/span_memory.h"
#include "unwind/live_stack.h"

struct gobinary;
struct process;
struct stack_spans;

#define STACK_SPANS_MAX	 16 /* of one goroutine; beyond, those found first count */
#define STACK_FRAMES_MAX 128

/* A process that is looked at; all lent. */
struct stack_spans_process {
	const struct process *process;
	struct gobinary *binary;
	uint64_t bias;
	uint64_t now_ns; /* wall time: no span began later */
};

struct stack_frame {
	uint64_t pc;
	bool exact; /* no return address: what executes next */
};

/* What one stack shows. */
struct stack_spans_found {
	/* Spans that the stack holds, outermost first, then `led_to` of them to which but a context
	 * leads. */
	size_t count, led_to;
	struct span_memory spans[STACK_SPANS_MAX];
	/* A function was interrupted between any two instructions: a span that it alone knows is
	 * not found. */
	bool interrupted;
	size_t frame_count; /* leaf first; beyond STACK_FRAMES_MAX they are counted only */
	struct stack_frame frames[STACK_FRAMES_MAX];
};

/* For all goroutines of one process, one after the other. -ENOMEM */
int stack_spans_open(const struct stack_spans_process *process, struct stack_spans **out);
void stack_spans_close(struct stack_spans *s);
/*
 * The spans that a goroutine's stack holds: those it has started and is to end. `g` is the address
 * of its runtime.g, `stack` a copy; whether both belong together is the caller's to know. Errors as
 * of remote_pieces_read.
 */
int stack_spans_find(struct stack_spans *s, uint64_t g, const struct still_stack *stack,
		     struct stack_spans_found *out);
/*
 * Adds the open spans to which the contexts lead that are in use on the stack last searched: the
 * nearest one of each. Whoever has but a context works for its span all the same.
 */
int stack_spans_follow_contexts(struct stack_spans *s, struct stack_spans_found *out);

#endif
