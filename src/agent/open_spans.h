/* SPDX-License-Identifier: Apache-2.0 */
/* Every open span of a process at one time, and the goroutines that have it. */
#ifndef AGENT_OPEN_SPANS_H
#define AGENT_OPEN_SPANS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/stack_spans.h"
#include "process/goroutines.h"
#include "process/span_memory.h"

#define OPEN_SPANS_RAN_MAX 8

/* A goroutine that has an open span. */
struct open_goroutine {
	struct goroutine_state state;
	uint32_t first_frame, frame_count; /* of the frames below; leaf first */
	uint32_t deeper;		   /* frames that were not kept */
	uint32_t works_for;		   /* holder: of the span that it works for */
};

/* A span and one of the goroutines that have it. */
struct open_holder {
	struct span_memory span;
	uint32_t name;	    /* index of its first byte; as the target has it, not cleaned */
	uint32_t name_size; /* 0: it could not be read */
	uint32_t goroutine; /* index */
	bool by_context;    /* it holds but a context that leads there */
	bool is_work;	    /* the innermost span that it holds, else the youngest */
};

struct open_spans {
	uint64_t now_ns;	     /* wall time at which the look began */
	struct open_holder *holders; /* oldest span first; of one those that hold it themselves */
	struct open_goroutine *goroutines; /* in the same order */
	struct stack_frame *frames;
	char *names;
	size_t goroutine_count, holder_count, frame_count, name_bytes;
	size_t span_count;
	size_t looked_at; /* goroutines whose stacks could be read */
	size_t left_out;  /* have spans, but there was no room for them */
	size_t ran;	  /* each time they were looked at: nothing is known of their spans */
	uint64_t ran_goids[OPEN_SPANS_RAN_MAX]; /* of the first of them */
	/* Room */
	size_t goroutine_room, holder_room, frame_room, name_room;
};

/*
 * Looks at all goroutines; at those that run again and again, for some milliseconds. `process`:
 * now_ns is not looked at. `out` is the caller's to close, also after an error. Errors: as of
 * goroutines_list.
 */
int open_spans_read(const struct stack_spans_process *process, struct open_spans *out);
void open_spans_close(struct open_spans *o);
/* How many holders from this one on are of the same span. */
size_t open_spans_holders(const struct open_spans *o, size_t first);

#endif
