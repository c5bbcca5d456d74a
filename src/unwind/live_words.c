/* SPDX-License-Identifier: Apache-2.0 */
/* A word is a local of the frame it lies in or an argument of the frame below; see live_words.h. */
#include "unwind/live_words.h"

#include "gobinary/gobinary.h"
#include "unwind/frame_rule.h"

/* Measures the frame at hand. */
static void measure(struct live_words *l)
{
	struct pclntab *table = gobinary_get_pclntab(l->binary);
	uint64_t pc = l->pc - l->bias, inside = l->exact ? pc : pc - 1;
	struct go_function function;
	struct frame_rule rule;
	int32_t delta;

	l->lost = pclntab_find_function(table, inside, &function) ||
		  pclntab_get_sp_delta(table, pc < function.end ? pc : inside, &delta) ||
		  delta < 0 || (function.flags & GO_SP_WRITE && !l->exact);
	if (l->lost)
		return;
	frame_rule_get(l->start, (uint32_t)delta, &rule);
	l->limit = rule.caller_sp;
}

void live_words_begin(struct live_words *l, struct gobinary *binary, uint64_t bias,
		      const struct unwound_stack *stack)
{
	*l = (struct live_words){
		.binary = binary,
		.bias = bias,
		.stack = stack,
		.frame = stack->goroutine_at,
		.pc = stack->goroutine_pc,
		.start = stack->goroutine_sp,
		.exact = stack->goroutine_exact,
		.lost = !binary || !stack->goroutine_pc,
	};
	if (!l->lost)
		measure(l);
}

static void go_to_caller(struct live_words *l)
{
	if (l->frame >= l->stack->count) {
		l->lost = true;
		return;
	}
	l->pc = l->stack->pcs[l->frame];
	l->exact = l->stack->exact[l->frame++];
	l->start = l->limit;
	measure(l);
}

bool live_words_has(struct live_words *l, uint64_t address)
{
	while (!l->lost) {
		int64_t below = (int64_t)(l->limit - address);
		enum pointer_slot slot;

		if (address < l->start)
			return false;
		slot = pclntab_get_pointer_slot(gobinary_get_pclntab(l->binary), l->pc - l->bias,
						!l->exact, below);
		if (address < l->limit || slot != POINTER_SLOT_UNKNOWN)
			return slot == POINTER_SLOT_LIVE;
		go_to_caller(l);
	}
	return false;
}

bool live_words_has_object(const struct live_words *l, uint64_t address)
{
	return !l->lost && address >= l->start && address < l->limit &&
	       pclntab_has_stack_object(gobinary_get_pclntab(l->binary), l->pc - l->bias, !l->exact,
					(int64_t)(l->limit - address));
}
