/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Exact steps by pcsp from the registers until the frame-pointer register is seen to belong to the
 * frame at hand; from there the chain that the kernel side walked is right. See walk.h.
 */
#include "unwind/walk.h"

#include "gobinary/gobinary.h"
#include "unwind/frame_rule.h"

#define INJECTED_AHEAD_MAX 8 /* frames of the runtime above an injected call */

static bool in_range(uint64_t address, uint64_t start, uint64_t end)
{
	return address >= start && address < end;
}

#define IN(address, range) in_range(address, (range).start, (range).end)

bool walk_in_text(const struct walker *w, uint64_t pc)
{
	return w->info && in_range(pc - w->bias, w->info->text_start, w->info->text_end);
}

bool walk_emit(struct walker *w, uint64_t pc, bool exact)
{
	struct unwound_stack *out = w->out;

	if (out->count == UNWIND_FRAMES_MAX) {
		out->truncated = true;
		return false;
	}
	out->exact[out->count] = exact;
	out->pcs[out->count++] = pc;
	return true;
}

static bool is_leaf(const struct unwound_stack *out)
{
	return out->count == out->kernel_count + 1;
}

/* Whether frame pointers do not lead across this switch of stacks as they should. */
static bool must_switch(const struct walker *w, uint64_t address)
{
	return w->info->frameless_callers && w->has_saved && !IN(address, w->info->asmcgocall) &&
	       !(w->leaf_at_home && is_leaf(w->out));
}

/* Notes what a frame just emitted means for the walk. `pc` is inside the function. */
static bool ends_walk(struct walker *w, uint64_t pc, enum walk_end *end)
{
	const struct gobinary_info *info = w->info;
	uint64_t address = pc - w->bias;

	if (IN(address, info->goexit)) {
		w->out->count--; /* known by all, shown by none */
		*end = WALK_WHOLE;
		return true;
	}
	if (IN(address, info->sigtramp) || IN(address, info->cgo_sigtramp) ||
	    IN(address, info->sigreturn)) {
		*end = WALK_SIGNAL;
		return true;
	}
	if (IN(address, info->cgocallback)) {
		*end = WALK_STOP;
		return !w->by_size;
	}
	if (IN(address, info->systemstack) || IN(address, info->asmcgocall) ||
	    IN(address, info->morestack)) {
		w->switch_at = w->out->count;
		w->switch_is_pause = !IN(address, info->morestack);
		*end = WALK_SWITCH;
		return must_switch(w, address); /* else frame pointers may lead across */
	}
	if (IN(address, info->mcall) && w->leaf_at_home && is_leaf(w->out))
		return false; /* it has not left the goroutine's stack yet */
	for (size_t i = 0; i < info->top_frame_count; i++) {
		if (IN(address, info->top_frames[i])) {
			*end = WALK_WHOLE;
			return true;
		}
	}
	return false;
}

/* The end of a walk that found no outermost frame: back to the last stack switch, if any. */
static enum walk_end without_end(struct walker *w, enum walk_end end)
{
	if (!w->switch_at)
		return end;
	w->out->count = w->switch_at;
	return WALK_SWITCH;
}

/* The return address executes itself: no call stands before it. */
static bool is_injected(const struct walker *w, uint64_t pc)
{
	return IN(pc - w->bias, w->info->async_preempt) || IN(pc - w->bias, w->info->sigpanic);
}

static bool is_callback(const struct walker *w, uint64_t pc)
{
	return IN(pc - w->bias, w->info->cgocallback);
}

/* Whether the next frame was not called by the last one but interrupted. */
static bool was_interrupted(const struct walker *w)
{
	const struct unwound_stack *out = w->out;
	uint32_t last = out->count - 1;

	return w->info && out->count > out->kernel_count &&
	       is_injected(w, out->exact[last] ? out->pcs[last] : out->pcs[last] - 1);
}

/* False: `*end` says how the walk ends. */
static bool add_return(struct walker *w, uint64_t pc, enum walk_end *end)
{
	bool exact = was_interrupted(w);

	*end = WALK_LOST;
	return walk_emit(w, pc, exact) && !(w->info && ends_walk(w, exact ? pc : pc - 1, end));
}

/* Bytes of the frame at `pc`, by pcsp; `inside` lies in its function. */
static bool frame_size(const struct walker *w, uint64_t pc, uint64_t inside,
		       struct go_function *function, uint32_t *size)
{
	int32_t delta;

	if (pclntab_find_function(w->table, inside - w->bias, function) ||
	    pclntab_get_sp_delta(w->table,
				 pc - w->bias < function->end ? pc - w->bias : inside - w->bias,
				 &delta) ||
	    delta < 0)
		return false;
	*size = delta;
	return true;
}

static bool last_has_no_frame(const struct walker *w)
{
	const struct unwound_stack *out = w->out;
	uint64_t pc = out->count ? out->pcs[out->count - 1] : 0;
	struct go_function function;
	uint32_t size;

	return w->info && w->info->frameless_callers && pc &&
	       frame_size(w, pc, out->exact[out->count - 1] ? pc : pc - 1, &function, &size) &&
	       !size;
}

/* False: `*end` says how the walk ends. */
static bool add_link(struct walker *w, uint64_t word, enum walk_end *end)
{
	if (!(word & RECORD_ABOVE))
		return add_return(w, word, end);
	return !last_has_no_frame(w) || add_return(w, word & ~RECORD_ABOVE, end);
}

static enum walk_end follow_root(struct walker *w, const struct cursor *c)
{
	enum walk_end end;
	bool begun = false;

	w->out->gap_at = w->out->count;
	for (size_t i = 0; i < c->root_count; i++) {
		uint64_t word = c->root[(c->root_first + i) % c->root_count];

		begun |= !(word & RECORD_ABOVE);
		if (begun && !add_link(w, word, &end))
			return end;
	}
	return without_end(w, WALK_LOST);
}

static enum walk_end follow_chain(struct walker *w, const struct cursor *c)
{
	enum walk_end end;

	w->by_size = false;
	for (size_t i = 0; i < c->chain_count; i++)
		if (!add_link(w, c->chain[i], &end))
			return end;
	return c->root_count ? follow_root(w, c) : without_end(w, WALK_LOST);
}

/* Code that is not Go's: its caller is only known by the chain, and only if it kept the frame. */
static enum walk_end walk_foreign(struct walker *w, const struct cursor *c)
{
	walk_emit(w, c->pc, true);
	if (c->interrupted)
		return WALK_SIGNAL; /* C's return from the handler */
	if (w->in_call)
		return WALK_FOREIGN; /* the frame pointer may be that of its caller's caller */
	if (c->chain_count && walk_in_text(w, c->chain[0])) {
		uint32_t leaf = w->out->count;
		enum walk_end end = follow_chain(w, c);

		if (end != WALK_LOST || !w->has_saved)
			return end;
		w->out->count = leaf; /* what was saved leads further */
		w->out->gap_at = 0;
		return WALK_FOREIGN;
	}
	if (w->info)
		return WALK_FOREIGN;
	return follow_chain(w, c);
}

/*
 * Up to some frames the steps go by pcsp even where the chain could be taken. An injected call
 * interrupts between any two instructions, so that the frame it interrupted may not be in the
 * chain. Behind a call of Go by C it leads into C; the words of the stack lead to the goroutine's
 * own frames, which are older.
 */
static size_t count_sized(const struct walker *w, const struct cursor *c)
{
	size_t count = 0;

	for (size_t i = 0; i < c->chain_count; i++)
		if ((i < count + INJECTED_AHEAD_MAX && is_injected(w, c->chain[i] - 1)) ||
		    is_callback(w, c->chain[i] - 1))
			count = i + 1;
	return count;
}

/* Past what the runtime put below the frame that its injected call interrupted. */
static bool skip_injected(struct walker *w, struct cursor *c, enum walk_end *end)
{
	uint32_t bytes = frame_rule_injected_bytes();

	if (!bytes)
		return true;
	if (!stack_words_get(&c->window, c->sp, &c->lr)) {
		*end = without_end(w, WALK_LOST);
		return false;
	}
	c->sp += bytes;
	return true;
}

/* The chain without the frame that was stepped over. */
static void drop_link(struct cursor *c)
{
	do {
		c->chain++;
		c->chain_count--;
		c->sized -= c->sized > 0;
	} while (c->chain_count && *c->chain & RECORD_ABOVE);
}

/* Moves to the caller, past a frame of known size. False: `*end` says how the walk ends. */
static bool step_over(struct walker *w, struct cursor *c, uint64_t inside, uint32_t size,
		      enum walk_end *end)
{
	bool injected = is_injected(w, inside), callback = is_callback(w, inside), keeps_record;
	struct frame_rule rule;
	uint64_t caller_fp;

	frame_rule_get(c->sp, size, &rule);
	keeps_record = rule.frame_record && c->fp == rule.frame_record;
	if (keeps_record && (!(injected || callback || c->sized) || !c->chain_count ||
			     !stack_words_get(&c->window, rule.frame_record, &caller_fp))) {
		*end = follow_chain(w, c);
		return false;
	}
	if (rule.in_link_register && (c->exact || (c->depth == 0 && c->lr))) {
		c->pc = c->lr;
	} else if (!stack_words_get(&c->window, rule.return_slot, &c->pc)) {
		/* Without the word a leaf's caller is missing; further up, nothing fits. */
		*end = c->depth ? without_end(w, WALK_LOST) : follow_chain(w, c);
		return false;
	}
	if (callback) {
		c->chain_count = c->root_count = c->sized = 0;
		c->fp = 0;
	} else if (keeps_record) {
		c->fp = caller_fp;
		drop_link(c);
	}
	w->stats->repaired++;
	c->sp = rule.caller_sp;
	c->exact = injected || (callback && pclntab_begins_at(w->table, c->pc - w->bias));
	return !injected || skip_injected(w, c, end);
}

/*
 * Past a leaf that moves SP by itself, as who calls the vdso does: where it has, its size has led
 * to nothing, but it keeps a frame record.
 */
static bool has_moved_sp(const struct walker *w, const struct cursor *c)
{
	return c->depth == 0 && c->chain_count && !walk_in_text(w, c->pc - 1) &&
	       walk_in_text(w, c->chain[0] - 1);
}

static bool step(struct walker *w, struct cursor *c, enum walk_end *end)
{
	uint64_t inside = c->exact ? c->pc : c->pc - 1;
	struct go_function function;
	bool writes_sp;
	uint32_t size;

	if (!(c->depth == 0 && c->hide_first) && !walk_emit(w, c->pc, c->exact)) {
		*end = WALK_LOST;
		return false;
	}
	w->by_size = true;
	if (ends_walk(w, inside, end))
		return false;
	if (!frame_size(w, c->pc, inside, &function, &size)) {
		*end = follow_chain(w, c);
		return false;
	}
	writes_sp = function.flags & GO_SP_WRITE;
	if (writes_sp && c->exact && c->depth == 0 && w->leaf_has_moved) {
		*end = WALK_SWITCH;
		return false;
	}
	if (writes_sp && !c->exact && !is_callback(w, inside)) {
		*end = without_end(w, WALK_LOST);
		return false;
	}
	if (!step_over(w, c, inside, size, end))
		return false;
	if (!writes_sp || !has_moved_sp(w, c))
		return true;
	*end = follow_chain(w, c);
	return false;
}

/* What is walked from here on may be the goroutine's own stack: the last one walked is. */
static void note_goroutine(struct walker *w, const struct cursor *c)
{
	w->out->goroutine_pc = c->pc;
	w->out->goroutine_sp = c->sp;
	w->out->goroutine_exact = c->exact;
	w->out->goroutine_at = w->out->count + !c->hide_first;
}

enum walk_end walk(struct walker *w, struct cursor *c)
{
	enum walk_end end;

	w->switch_at = 0;
	if (!w->info || !walk_in_text(w, c->pc))
		return walk_foreign(w, c);
	note_goroutine(w, c);
	c->sized = count_sized(w, c);
	for (; c->depth < UNWIND_FRAMES_MAX; c->depth++) {
		if (!step(w, c, &end))
			return end;
		if (!walk_in_text(w, c->pc - 1))
			return without_end(w, WALK_LOST);
	}
	return WALK_LOST;
}
