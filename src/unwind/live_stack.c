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

static bool measure(struct pclntab *table, uint64_t bias, const struct still_stack *stack,
		    struct frame *frame)
{
	uint64_t inside = frame->pc - bias - !frame->interrupted;
	struct go_function function;
	struct frame_rule rule;
	int32_t delta;

	if (pclntab_find_function(table, inside, &function) || function.flags & GO_TOP_FRAME ||
	    function.flags & GO_SP_WRITE || pclntab_get_sp_delta(table, inside, &delta) ||
	    delta < 0)
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
		slot = pclntab_get_pointer_slot(table, pc, true, (int64_t)(w.limit - w.address));
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
	bool any_interrupted = false;

	pclntab_begin(table);
	for (int i = 0; i < FRAMES_MAX && measure(table, bias, stack, &frame); i++) {
		uint64_t inside = frame.pc - bias - 1;

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
