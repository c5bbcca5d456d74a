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

#define STACK_SPANS_MAX 16 /* of one goroutine; beyond, those found first count */

/* A process that is looked at; all lent. */
struct stack_spans_process {
	const struct process *process;
	struct gobinary *binary;
	uint64_t bias;
	uint64_t now_ns; /* wall time: no span began later */
};

/* What one stack leads to, outermost span first. */
struct stack_spans_found {
	size_t count;
	struct span_memory spans[STACK_SPANS_MAX];
	/* A function was interrupted between any two instructions: a span that it alone knows is
	 * not found. */
	bool interrupted;
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

#endif
