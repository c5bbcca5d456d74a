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

/* Moves the window so that so many bytes at `address` are in it. */
static bool reach(struct window *w, uint64_t address, uint64_t wanted)
{
	uint64_t bytes = w->stack_high - address;

	if (address & 7 || address >= w->stack_high || bytes < wanted)
		return false;
	if (address >= w->start && address + wanted <= w->limit)
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
	const struct gobinary_info *info;
	uint64_t bias;
	struct window window;
	uint64_t fp, last; /* 0: at the outermost frame */
};

static uint64_t word_at(struct walk *k, uint64_t address)
{
	return reach(&k->window, address, 8) ? k->window.words[(address - k->window.start) / 8] : 0;
}

/*
 * The next return address and, where the chain may have gaps, what lies above it and may be another
 * one: their number. 0: there is no next frame, or it cannot be read.
 */
static size_t next_words(struct walk *k, __u64 words[1 + RECORD_ABOVE_MAX])
{
	uint64_t fp = k->fp, above;
	size_t count = 1;

	if (!fp || fp < k->last || !reach(&k->window, fp, 16))
		return 0;
	k->fp = word_at(k, fp);
	words[0] = word_at(k, fp + 8);
	k->last = fp + 16;
	if (!words[0])
		return 0;
	if (k->info->frameless_callers)
		for (; count <= RECORD_ABOVE_MAX; count++) {
			above = word_at(k, fp + 8 + 8 * count);
			if (!in_text(k->info, k->bias, above))
				break;
			words[count] = above | RECORD_ABOVE;
		}
	return count;
}

/* What goes beyond a record: the outermost frames of it, in a ring. */
static void walk_root(struct walk *k, struct sample_record *record, __u64 *ring)
{
	__u64 words[1 + RECORD_ABOVE_MAX];
	size_t count = 0, more;

	while ((more = next_words(k, words)))
		for (size_t i = 0; i < more; i++)
			ring[count++ % RECORD_ROOT_MAX] = words[i];
	record->root_count = (uint16_t)(count < RECORD_ROOT_MAX ? count : RECORD_ROOT_MAX);
	record->root_first = (uint16_t)(count < RECORD_ROOT_MAX ? 0 : count % RECORD_ROOT_MAX);
}

/* The words of the chain, as far as a record takes them; their number. */
static size_t walk_chain(struct walk *k, __u64 *chain)
{
	__u64 words[1 + RECORD_ABOVE_MAX];
	size_t count = 0, more;

	while (count < RECORD_CHAIN_MAX && (more = next_words(k, words)))
		for (size_t i = 0; i < more && count < RECORD_CHAIN_MAX; i++)
			chain[count++] = words[i];
	return count;
}

void parked_stack_fill(const struct process *p, const struct gobinary_info *info, uint64_t bias,
		       const struct goroutine_state *g, const struct parked_top *top,
		       struct sample_record *record)
{
	struct walk k = {.info = info,
			 .bias = bias,
			 .window = {.process = p,
				    .start = g->sp,
				    .limit = g->sp + 8 * top->count,
				    .stack_high = g->stack_high,
				    .words = top->words},
			 .fp = g->fp ? g->fp : find_frame(info, bias, g, top),
			 .last = g->sp};
	size_t count, stack = top->count;

	record->flags |= SAMPLE_WAITING;
	if (g->in_syscall)
		record->flags |= SAMPLE_CURG_SYSCALL;
	record->curg_pc = g->pc;
	record->curg_sp = g->sp;
	record->curg_fp = k.fp;
	count = walk_chain(&k, record->words);
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
