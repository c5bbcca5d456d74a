/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Along the frame pointers, which a goroutine that was parked has all kept. See parked_stack.h.
 */
#include "waiting/parked_stack.h"

#include <string.h>

#include "gobinary/gobinary.h"
#include "process/goroutines.h"
#include "process/process.h"

#define WINDOW_WORDS	2048 /* read at a time, further down a deep stack */
#define STACK_BYTES_MAX (1 << 20)

/* The part of the stack that is at hand. */
struct window {
	const struct process *process;
	uint64_t start, limit; /* of the words */
	uint64_t stack_high;
	const uint64_t *words;
	uint64_t more[WINDOW_WORDS];
};

size_t parked_top_bytes(const struct goroutine_state *g)
{
	uint64_t bytes = g->stack_high - g->sp;

	return bytes < sizeof(((struct parked_top *)0)->words)
		       ? (size_t)bytes
		       : sizeof(((struct parked_top *)0)->words);
}

/* Moves the window so that two words at `address` are in it. */
static bool reach(struct window *w, uint64_t address)
{
	uint64_t bytes = w->stack_high - address;

	if (address & 7 || address >= w->stack_high || bytes < 16)
		return false;
	if (address >= w->start && address + 16 <= w->limit)
		return true;
	if (w->stack_high - w->start > STACK_BYTES_MAX + bytes)
		return false;
	bytes = bytes < sizeof(w->more) ? bytes : sizeof(w->more);
	if (process_read_memory(w->process, address, w->more, (size_t)bytes))
		return false;
	w->words = w->more;
	w->start = address;
	w->limit = address + bytes;
	return true;
}

static bool in_text(const struct gobinary_info *info, uint64_t bias, uint64_t address)
{
	return address - bias >= info->text_start && address - bias < info->text_end;
}

/*
 * Before Go 1.23 a system call does not say where its frame pointer was: the first word above that
 * looks like one, with a return address behind it.
 */
static uint64_t find_frame(const struct gobinary_info *info, uint64_t bias,
			   const struct goroutine_state *g, const struct parked_top *top)
{
	for (size_t i = 0; i + 1 < top->count; i++) {
		uint64_t at = g->sp + 8 * i;

		if (top->words[i] > at && top->words[i] < g->stack_high && !(top->words[i] & 7) &&
		    in_text(info, bias, top->words[i + 1]))
			return at;
	}
	return 0;
}

/* Whether the frame pointers may have left out a frame, which only its words tell. */
static bool has_gaps(const struct gobinary_info *info, uint64_t bias,
		     const struct goroutine_state *g, const __u64 *chain, size_t count)
{
	if (g->status != GOROUTINE_WAITING || !g->fp)
		return true;
	for (size_t i = 0; i < count; i++)
		if (chain[i] - 1 - bias - info->async_preempt.start <
		    info->async_preempt.end - info->async_preempt.start)
			return true;
	return false;
}

/* A walk along frame pointers. */
struct walk {
	struct window window;
	uint64_t fp, last; /* 0: at the outermost frame */
};

/* The next return address; 0: there is no next frame, or it cannot be read. */
static uint64_t next_return(struct walk *k)
{
	const uint64_t *frame;

	if (!k->fp || k->fp < k->last || !reach(&k->window, k->fp))
		return 0;
	frame = &k->window.words[(k->fp - k->window.start) / 8];
	k->last = k->fp + 16;
	k->fp = frame[0];
	return frame[1];
}

/* What goes beyond a record: the outermost frames of it, in a ring. */
static void walk_root(struct walk *k, struct sample_record *record, __u64 *ring)
{
	uint64_t pc;
	size_t count = 0;

	for (; (pc = next_return(k)); count++)
		ring[count % RECORD_ROOT_MAX] = pc;
	record->root_count = (uint16_t)(count < RECORD_ROOT_MAX ? count : RECORD_ROOT_MAX);
	record->root_first = (uint16_t)(count < RECORD_ROOT_MAX ? 0 : count % RECORD_ROOT_MAX);
}

void parked_stack_fill(const struct process *p, const struct gobinary_info *info, uint64_t bias,
		       const struct goroutine_state *g, const struct parked_top *top,
		       struct sample_record *record)
{
	struct walk k = {.window = {.process = p,
				    .start = g->sp,
				    .limit = g->sp + 8 * top->count,
				    .stack_high = g->stack_high,
				    .words = top->words},
			 .fp = g->fp ? g->fp : find_frame(info, bias, g, top),
			 .last = g->sp};
	size_t count = 0, stack = top->count;
	uint64_t pc;

	record->flags |= SAMPLE_WAITING;
	if (g->in_syscall)
		record->flags |= SAMPLE_CURG_SYSCALL;
	record->curg_pc = g->pc;
	record->curg_sp = g->sp;
	record->curg_fp = k.fp;
	while (count < RECORD_CHAIN_MAX && (pc = next_return(&k)))
		record->words[count++] = pc;
	record->curg_count = (uint16_t)count;
	if (!k.fp && !has_gaps(info, bias, g, record->words, count))
		stack = 0;
	if (k.fp) {
		record->flags |= SAMPLE_CHAIN_CUT;
		walk_root(&k, record, record->words + count);
		count += record->root_count;
	}
	memcpy(record->words + count, top->words, stack * sizeof(*top->words));
	record->curg_stack_count = (uint16_t)stack;
	record->header.size_bytes =
		(uint32_t)(sizeof(*record) + (count + stack) * sizeof(*record->words));
}
