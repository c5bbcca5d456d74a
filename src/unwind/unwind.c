/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The hybrid: exact steps by pcsp from the registers until the frame-pointer register is seen to
 * belong to the frame at hand; from there the chain that the kernel side walked is right. On a
 * system stack it goes on with the goroutine's saved registers.
 */
#include "unwind/unwind.h"

#include <errno.h>
#include <spanprof/record.h>
#include <string.h>

#include "gobinary/gobinary.h"
#include "unwind/frame_rule.h"
#include "unwind/stack_words.h"

#define INJECTED_AHEAD_MAX 8 /* frames of the runtime above an injected call */

/* Where a walk stands, and what was captured for it. */
struct cursor {
	uint64_t pc, sp, fp, lr;
	bool exact;	  /* pc itself executes; else it is a return address */
	bool hide_first;  /* the first frame stands for a stack switch: a helper of the runtime */
	bool interrupted; /* a signal handler's: the registers it interrupted are known */
	size_t depth;	  /* frames stepped over by pcsp */
	struct stack_words window;
	const __u64 *chain; /* return addresses along frame pointers from fp */
	size_t chain_count;
};

enum walk_end {
	WALK_WHOLE,   /* reached the goroutine's or thread's outermost frame */
	WALK_LOST,    /* no way on */
	WALK_SWITCH,  /* at a function that changed stacks: go on at the goroutine's registers */
	WALK_FOREIGN, /* left Go code for code that keeps no frame pointers */
	WALK_SIGNAL,  /* at a signal handler's entry: go on at what it interrupted */
	WALK_STOP,    /* at a function behind which saved registers mean nothing */
};

struct walker {
	const struct gobinary_info *info; /* NULL: not Go */
	struct pclntab *table;
	uint64_t bias;
	struct unwound_stack *out;
	struct unwind_stats *stats;
	size_t switch_at;     /* frames up to the last stack switch, that one included; 0: none */
	bool switch_is_pause; /* the switch saved a helper's pc: hide_first */
};

static bool in_range(uint64_t address, uint64_t start, uint64_t end)
{
	return address >= start && address < end;
}

#define IN(address, range) in_range(address, (range).start, (range).end)

static bool in_text(const struct walker *w, uint64_t pc)
{
	return w->info && in_range(pc - w->bias, w->info->text_start, w->info->text_end);
}

static bool emit(struct walker *w, uint64_t pc, bool exact)
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
		return true;
	}
	if (IN(address, info->systemstack) || IN(address, info->asmcgocall) ||
	    IN(address, info->morestack)) {
		w->switch_at = w->out->count;
		w->switch_is_pause = !IN(address, info->morestack);
		return false; /* frame pointers may lead across */
	}
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

static enum walk_end follow_chain(struct walker *w, const __u64 *chain, size_t count)
{
	enum walk_end end;

	for (size_t i = 0; i < count; i++) {
		if (!emit(w, chain[i], false))
			return WALK_LOST;
		if (w->info && ends_walk(w, chain[i] - 1, &end))
			return end;
	}
	return without_end(w, WALK_LOST);
}

/* Code that is not Go's: its caller is only known by the chain, and only if it kept the frame. */
static enum walk_end walk_foreign(struct walker *w, const struct cursor *c)
{
	emit(w, c->pc, true);
	if (c->interrupted)
		return WALK_SIGNAL; /* C's return from the handler */
	if (c->chain_count && in_text(w, c->chain[0]))
		return follow_chain(w, c->chain, c->chain_count);
	if (w->info)
		return WALK_FOREIGN;
	return follow_chain(w, c->chain, c->chain_count);
}

/* Bytes of the frame at the cursor, by pcsp. */
static bool frame_size(const struct walker *w, const struct cursor *c, uint64_t inside,
		       struct go_function *function, uint32_t *size)
{
	uint64_t pc = c->pc - w->bias;
	int32_t delta;

	if (pclntab_find_function(w->table, inside - w->bias, function) ||
	    pclntab_get_sp_delta(w->table, pc < function->end ? pc : inside - w->bias, &delta) ||
	    delta < 0)
		return false;
	*size = delta;
	return true;
}

/* The return address executes itself: no call stands before it. */
static bool is_injected(const struct walker *w, uint64_t pc)
{
	return IN(pc - w->bias, w->info->async_preempt) || IN(pc - w->bias, w->info->sigpanic);
}

/*
 * An injected call interrupts between any two instructions, so that the frame it interrupted may
 * not be in the chain: up to such a call the steps go by pcsp even where the chain could be taken.
 */
static bool injected_ahead(const struct walker *w, const struct cursor *c)
{
	for (size_t i = 0; i < c->chain_count && i < INJECTED_AHEAD_MAX; i++)
		if (is_injected(w, c->chain[i] - 1))
			return true;
	return false;
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

/* Moves to the caller, past a frame of known size. False: `*end` says how the walk ends. */
static bool step_over(struct walker *w, struct cursor *c, uint64_t inside, uint32_t size,
		      enum walk_end *end)
{
	bool injected = is_injected(w, inside), keeps_record;
	struct frame_rule rule;
	uint64_t caller_fp;

	frame_rule_get(c->sp, size, &rule);
	keeps_record = rule.frame_record && c->fp == rule.frame_record;
	if (keeps_record && (!(injected || injected_ahead(w, c)) || !c->chain_count ||
			     !stack_words_get(&c->window, rule.frame_record, &caller_fp))) {
		*end = follow_chain(w, c->chain, c->chain_count);
		return false;
	}
	if (rule.in_link_register && (c->exact || (c->depth == 0 && c->lr))) {
		c->pc = c->lr;
	} else if (!stack_words_get(&c->window, rule.return_slot, &c->pc)) {
		/* Without the word a leaf's caller is missing; further up, nothing fits. */
		*end = c->depth ? without_end(w, WALK_LOST)
				: follow_chain(w, c->chain, c->chain_count);
		return false;
	}
	if (keeps_record) {
		c->fp = caller_fp;
		c->chain++;
		c->chain_count--;
	}
	w->stats->repaired++;
	c->sp = rule.caller_sp;
	c->exact = injected;
	return !injected || skip_injected(w, c, end);
}

static bool step(struct walker *w, struct cursor *c, enum walk_end *end)
{
	uint64_t inside = c->exact ? c->pc : c->pc - 1;
	struct go_function function;
	uint32_t size;

	if (!(c->depth == 0 && c->hide_first) && !emit(w, c->pc, c->exact)) {
		*end = WALK_LOST;
		return false;
	}
	if (ends_walk(w, inside, end))
		return false;
	if (!frame_size(w, c, inside, &function, &size)) {
		*end = follow_chain(w, c->chain, c->chain_count);
		return false;
	}
	if (function.flags & GO_SP_WRITE && !c->exact) {
		*end = without_end(w, WALK_LOST);
		return false;
	}
	return step_over(w, c, inside, size, end);
}

/* What is walked from here on may be the goroutine's own stack: the last one walked is. */
static void note_goroutine(struct walker *w, const struct cursor *c)
{
	w->out->goroutine_pc = c->pc;
	w->out->goroutine_sp = c->sp;
	w->out->goroutine_exact = c->exact;
	w->out->goroutine_at = w->out->count + !c->hide_first;
}

static enum walk_end walk(struct walker *w, struct cursor *c)
{
	enum walk_end end;

	w->switch_at = 0;
	if (!w->info || !in_text(w, c->pc))
		return walk_foreign(w, c);
	note_goroutine(w, c);
	for (; c->depth < UNWIND_FRAMES_MAX; c->depth++) {
		if (!step(w, c, &end))
			return end;
		if (!in_text(w, c->pc - 1))
			return without_end(w, WALK_LOST);
	}
	return WALK_LOST;
}

/* Where the words of a record lie; every count is checked against the record's size. */
struct layout {
	const __u64 *chain, *curg_chain, *kernel, *stack, *curg_stack;
};

static bool lay_out(const struct sample_record *sample, struct layout *out)
{
	size_t words = ((size_t)sample->header.size_bytes - sizeof(*sample)) / 8;
	size_t used = sample_stack_words(sample) +
		      sample->candidate_count * (sizeof(struct span_candidate) / 8);

	if (sample->header.size_bytes < sizeof(*sample) || used > words)
		return false;
	out->chain = sample->words;
	out->curg_chain = out->chain + sample->chain_count;
	out->kernel = out->curg_chain + sample->curg_count;
	out->stack = out->kernel + sample->kernel_count;
	out->curg_stack = out->stack + sample->stack_count;
	return true;
}

/* The goroutine's own frames, below what ran on the system stack or in a signal handler. */
static enum walk_end walk_curg(struct walker *w, const struct sample_record *sample,
			       const struct layout *layout)
{
	struct cursor c = {
		.pc = sample->curg_pc,
		.sp = sample->curg_sp,
		.fp = sample->curg_fp,
		.lr = sample->curg_lr,
		.exact = sample->flags & SAMPLE_SIGNAL,
		.hide_first = w->switch_at && w->switch_is_pause &&
			      !(sample->flags & (SAMPLE_CURG_SYSCALL | SAMPLE_SIGNAL)),
		.window = {sample->curg_sp, layout->curg_stack, sample->curg_stack_count},
		.chain = layout->curg_chain,
		.chain_count = sample->curg_count,
	};

	return in_text(w, c.pc) ? walk(w, &c) : WALK_LOST;
}

/*
 * Frame pointers led across a stack switch: the goroutine's own stack begins behind that, where its
 * saved registers say.
 */
static void note_crossed(struct walker *w, const struct sample_record *sample)
{
	if (!w->switch_at || !sample->curg_pc || !sample->curg_sp ||
	    sample->flags & (SAMPLE_CURG_SYSCALL | SAMPLE_SIGNAL))
		return;
	w->out->goroutine_pc = sample->curg_pc;
	w->out->goroutine_sp = sample->curg_sp;
	w->out->goroutine_exact = false;
	w->out->goroutine_at = (uint32_t)w->switch_at + !w->switch_is_pause;
}

static enum walk_end walk_sample(struct walker *w, const struct sample_record *sample,
				 const struct layout *layout)
{
	struct cursor c = {
		.pc = sample->pc,
		.sp = sample->sp,
		.fp = sample->fp,
		.lr = sample->lr,
		.exact = true,
		.interrupted = sample->flags & SAMPLE_SIGNAL,
		.window = {sample->sp, layout->stack, sample->stack_count},
		.chain = layout->chain,
		.chain_count = sample->chain_count,
	};
	enum walk_end end = walk(w, &c);
	bool has_saved = sample->curg_pc && sample->curg_sp && !(sample->flags & SAMPLE_SIGNAL);

	if (end == WALK_WHOLE)
		note_crossed(w, sample);
	/* A handler that interrupted C: the goroutine is where it called it. */
	if (end == WALK_SIGNAL && sample->flags & SAMPLE_CURG_SYSCALL)
		end = WALK_FOREIGN;
	if ((end == WALK_SWITCH || end == WALK_FOREIGN) && has_saved)
		return walk_curg(w, sample, layout);
	if (end == WALK_SIGNAL && sample->flags & SAMPLE_SIGNAL)
		return walk_curg(w, sample, layout);
	return end;
}

void unwind_sample(const struct sample_record *sample, struct gobinary *binary, uint64_t bias,
		   struct unwound_stack *out, struct unwind_stats *stats)
{
	struct walker w = {
		.info = binary ? gobinary_get_info(binary) : NULL,
		.table = binary ? gobinary_get_pclntab(binary) : NULL,
		.bias = bias,
		.out = out,
		.stats = stats,
	};
	struct layout layout;
	enum walk_end end = WALK_LOST;

	if (w.table)
		pclntab_begin(w.table);
	out->count = out->kernel_count = 0;
	out->truncated = false;
	out->goroutine_pc = 0;
	out->goroutine_exact = false;
	stats->stacks++;
	if (!lay_out(sample, &layout)) {
		out->truncated = true;
		stats->truncated++;
		return;
	}
	for (size_t i = 0; i < sample->kernel_count; i++)
		emit(&w, layout.kernel[i], i == 0);
	out->kernel_count = out->count;
	if (sample->flags & SAMPLE_WAITING) {
		end = walk_curg(&w, sample, &layout);
	} else if (!(sample->flags & SAMPLE_NO_REGISTERS)) {
		stats->without_chain += sample->chain_count == 0;
		end = walk_sample(&w, sample, &layout);
	}
	if (end != WALK_WHOLE || sample->flags & SAMPLE_CHAIN_CUT)
		out->truncated = true;
	stats->truncated += out->truncated;
}
