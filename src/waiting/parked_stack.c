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

void parked_stack_fill(const struct process *p, const struct gobinary_info *info, uint64_t bias,
		       const struct goroutine_state *g, const struct parked_top *top,
		       struct sample_record *record)
{
	uint64_t fp = g->fp ? g->fp : find_frame(info, bias, g, top), last = g->sp;
	struct window w = {.process = p,
			   .start = g->sp,
			   .limit = g->sp + 8 * top->count,
			   .stack_high = g->stack_high,
			   .words = top->words};
	size_t count = 0, stack = top->count;

	record->flags |= SAMPLE_WAITING;
	if (g->in_syscall)
		record->flags |= SAMPLE_CURG_SYSCALL;
	record->curg_pc = g->pc;
	record->curg_sp = g->sp;
	record->curg_fp = fp;
	/* The outermost frame has 0 where others have their caller's frame pointer. */
	while (fp && count < RECORD_CHAIN_MAX) {
		const uint64_t *frame;

		if (fp < last || !reach(&w, fp))
			break;
		frame = &w.words[(fp - w.start) / 8];
		record->words[count++] = frame[1];
		last = fp + 16;
		fp = frame[0];
	}
	if (fp)
		record->flags |= SAMPLE_CHAIN_CUT;
	else if (!has_gaps(info, bias, g, record->words, count))
		stack = 0;
	record->curg_count = (uint16_t)count;
	memcpy(record->words + count, top->words, stack * sizeof(*top->words));
	record->curg_stack_count = (uint16_t)stack;
	record->header.size_bytes =
		(uint32_t)(sizeof(*record) + (count + stack) * sizeof(*record->words));
}
