/* SPDX-License-Identifier: Apache-2.0 */
/* What lies together in a Go process: a goroutine, its stack, contexts and spans. */
#ifndef UNIT_FAKE_HEAP_H
#define UNIT_FAKE_HEAP_H

#include <sys/mman.h>

#include "fake_program.h"

#define STACK_WORDS 1200
#define CONTEXTS    120
#define SPANS	    8

/* context.valueCtx; a cancelCtx begins alike, and has other things behind its parent. */
struct value_context {
	uint64_t parent_itab;
	const void *parent;
	uint64_t key_type;
	const void *key;
	uint64_t value_type;
	const void *value;
};

struct heap {
	struct fake_g g;
	struct value_context contexts[CONTEXTS];
	struct fake_span spans[SPANS];
	uint64_t stack[STACK_WORDS];
	uint8_t junk[64];
};

static struct heap *heap;

/* A goroutine that is on its system stack; its own is empty, and lies where the heap does. */
static inline int begin_heap(void **state)
{
	struct program *p = program;

	begin(state);
	memset(heap, 0, sizeof(*heap));
	heap->g = (struct fake_g){
		.m = &p->m,
		.goid = 51,
		.stack_hi = ADDRESS(heap->stack + STACK_WORDS),
		.sched_sp = ADDRESS(heap->stack),
		.sched_pc = 0x1234,
	};
	p->m.curg = &heap->g;
	fake_current_g = &p->g0;
	for (uint8_t i = 0; i < SPANS; i++) {
		struct fake_span *span = &heap->spans[i];

		fake_span_make(span, 0xa0 + i, 1 + i, "on a stack");
		/* 2026-11-30 as Go has it in memory */
		span->start_wall = 0xc2bb799dc4a5ab1b;
		span->start_ext = 0x246a4 + i;
		memset(span->parent.span_id, 0xc0 + i, sizeof(span->parent.span_id));
	}
	return 0;
}

static inline int set_up_heap(void **state)
{
	set_up(state);
	heap = mmap(NULL, sizeof(*heap), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		    0);
	assert_true(heap != MAP_FAILED);
	assert_int_equal(ADDRESS(heap) >> 36, ADDRESS(heap + 1) >> 36);
	return 0;
}

static inline int tear_down_heap(void **state)
{
	munmap(heap, sizeof(*heap));
	return tear_down(state);
}

/* Made from the context before it. */
static inline struct value_context *with_value(size_t at, uint64_t type, const void *value)
{
	struct value_context *c = &heap->contexts[at];

	*c = (struct value_context){
		.parent_itab = at ? FAKE_VALUE_ITAB : FAKE_CANCEL_ITAB,
		.parent = at ? c - 1 : NULL,
		.key_type = 0x1000,
		.key = heap->junk,
		.value_type = type,
		.value = value,
	};
	return c;
}

static inline struct value_context *with_span(size_t at, const struct fake_span *span)
{
	return with_value(at, FAKE_SPAN_TYPE, span);
}

static inline struct value_context *with_cancel(size_t at)
{
	return with_value(at, 0, NULL); /* a mutex and such stand there */
}

#endif
