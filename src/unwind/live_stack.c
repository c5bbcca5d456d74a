/* SPDX-License-Identifier: Apache-2.0 */
/* Frame by frame by pcsp, each with its own stack map; see live_stack.h. */
#include "unwind/live_stack.h"

#include "gobinary/gobinary.h"
#include "unwind/frame_rule.h"

#define FRAMES_MAX    512
#define ARGUMENTS_MAX 64 /* words of arguments and spill slots of one call */

struct frame {
	uint64_t pc, start, limit; /* [start, limit): limit is SP of its caller */
	uint64_t return_address;
	bool interrupted; /* pc is no return address: it executes next */
};

static size_t memo_place(uint64_t address, int64_t below)
{
	return (address * 31 + (uint64_t)below) * 0x9e3779b97f4a7c15 >> 40 & (LIVE_STACK_MEMO - 1);
}

/* Bytes of the frame below its return address; < 0: the stack ends there, or nobody knows. */
static int32_t find_delta(struct pclntab *table, uint64_t inside, struct live_stack_memo *memo)
{
	size_t place = memo_place(inside, 0);
	struct go_function function;
	int32_t delta = -1;

	if (memo && inside && memo->sizes[place].inside == inside)
		return memo->sizes[place].delta;
	/* What failed may have failed because this stack has had its share of decoding. */
	if (pclntab_find_function(table, inside, &function) ||
	    (!(function.flags & (GO_TOP_FRAME | GO_SP_WRITE)) &&
	     pclntab_get_sp_delta(table, inside, &delta)))
		return -1;
	if (memo) {
		memo->sizes[place].inside = inside;
		memo->sizes[place].delta = delta;
	}
	return delta;
}

/* What a stack that has had its share does not tell any more is not asked for again either. */
static enum pointer_slot find_slot(struct pclntab *table, uint64_t pc, int64_t below,
				   struct live_stack_memo *memo)
{
	size_t place = memo_place(pc, below);
	enum pointer_slot slot;

	if (memo && memo->words[place].pc == pc && memo->words[place].below == below)
		return memo->words[place].slot;
	slot = pclntab_get_pointer_slot(table, pc, true, below);
	if (memo) {
		memo->words[place].pc = pc;
		memo->words[place].below = below;
		memo->words[place].slot = slot;
	}
	return slot;
}

static bool measure(struct pclntab *table, uint64_t bias, const struct still_stack *stack,
		    struct live_stack_memo *memo, struct frame *frame)
{
	int32_t delta = find_delta(table, frame->pc - bias - !frame->interrupted, memo);
	struct frame_rule rule;

	if (delta < 0)
		return false;
	frame_rule_get(frame->start, (uint32_t)delta, &rule);
	frame->limit = rule.caller_sp;
	return stack_words_get(&stack->words, rule.return_slot, &frame->return_address);
}

/* The frame's own words, then the arguments it was called with: those lie with its caller's. */
static void take_frame(struct pclntab *table, uint64_t pc, const struct still_stack *stack,
		       const struct frame *frame, const struct live_stack_query *query)
{
	uint64_t end = frame->limit + 8 * ARGUMENTS_MAX;
	struct live_word w = {.address = frame->start, .pc = pc, .limit = frame->limit};

	for (; w.address < end && stack_words_get(&stack->words, w.address, &w.word);
	     w.address += 8) {
		enum pointer_slot slot;

		if (!query->is_wanted(query->context, w.word))
			continue;
		slot = find_slot(table, pc, (int64_t)(w.limit - w.address), query->memo);
		if (slot == POINTER_SLOT_UNKNOWN && w.address >= w.limit)
			break;
		w.used = slot == POINTER_SLOT_LIVE && !frame->interrupted;
		query->take(query->context, &w);
	}
}

bool live_stack_each(struct gobinary *binary, uint64_t bias, const struct still_stack *stack,
		     const struct live_stack_query *query)
{
	struct frame frame = {.pc = stack->pc, .start = stack->words.address};
	const struct gobinary_info *info = gobinary_get_info(binary);
	struct pclntab *table = gobinary_get_pclntab(binary);
	bool any_interrupted;

	pclntab_begin(table);
	/* It has not run yet. */
	any_interrupted = frame.interrupted = pclntab_begins_at(table, stack->pc - bias);
	for (int i = 0; i < FRAMES_MAX && measure(table, bias, stack, query->memo, &frame); i++) {
		uint64_t inside = frame.pc - bias - !frame.interrupted;

		if (query->enter)
			query->enter(query->context, frame.pc, frame.interrupted);
		take_frame(table, frame.pc - bias, stack, &frame, query);
		frame.interrupted = inside - info->async_preempt.start <
				    info->async_preempt.end - info->async_preempt.start;
		frame.start = frame.limit;
		if (frame.interrupted)
			frame.start += frame_rule_injected_bytes();
		any_interrupted |= frame.interrupted;
		frame.pc = frame.return_address;
	}
	return any_interrupted;
}
