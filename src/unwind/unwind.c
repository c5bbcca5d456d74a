/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The hybrid: a stack is walked from the registers and, where that was a system stack or a signal
 * handler's, once more from the goroutine's saved ones.
 */
#include "unwind/unwind.h"

#include <errno.h>
#include <spanprof/record.h>
#include <string.h>

#include "gobinary/gobinary.h"
#include "gobinary/pclntab.h"
#include "unwind/walk.h"

#define SWITCH_FRAME_MAX 64 /* bytes of a frame that is about to leave its stack */

/* Where the words of a record lie; every count is checked against the record's size. */
struct layout {
	const __u64 *chain, *curg_chain, *root, *kernel, *stack, *curg_stack;
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
	out->root = out->curg_chain + sample->curg_count;
	out->kernel = out->root + sample->root_count;
	out->stack = out->kernel + sample->kernel_count;
	out->curg_stack = out->stack + sample->stack_count;
	return true;
}

/* The outermost frames, where they are of the chain that was last walked. */
static void take_root(struct cursor *c, const struct sample_record *sample,
		      const struct layout *layout)
{
	if (c->chain_count < RECORD_CHAIN_MAX || sample->root_first >= sample->root_count)
		return;
	c->root = layout->root;
	c->root_count = sample->root_count;
	c->root_first = sample->root_first;
}

/*
 * Where the saved pc executes next instead of being returned to: what a signal interrupted, a
 * goroutine that has not run yet, and the helper of a stack switch before Go 1.21.
 */
static bool is_saved_exact(const struct walker *w, const struct sample_record *sample)
{
	return sample->flags & SAMPLE_SIGNAL ||
	       (w->table && pclntab_begins_at(w->table, sample->curg_pc - w->bias));
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
		.exact = is_saved_exact(w, sample),
		.hide_first = w->switch_at && w->switch_is_pause &&
			      !(sample->flags & (SAMPLE_CURG_SYSCALL | SAMPLE_SIGNAL)),
		.window = {sample->curg_sp, layout->curg_stack, sample->curg_stack_count},
		.chain = layout->curg_chain,
		.chain_count = sample->curg_count,
	};

	take_root(&c, sample, layout);

	return walk_in_text(w, c.pc) ? walk(w, &c) : WALK_LOST;
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
	w->out->goroutine_exact = is_saved_exact(w, sample);
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
	enum walk_end end;

	if (sample->curg_count < RECORD_CHAIN_MAX)
		take_root(&c, sample, layout);
	end = walk(w, &c);
	if (end == WALK_WHOLE)
		note_crossed(w, sample);
	/* A handler that interrupted C: the goroutine is where it called it. */
	if (end == WALK_SIGNAL && sample->flags & SAMPLE_CURG_SYSCALL)
		end = WALK_FOREIGN;
	if ((end == WALK_SWITCH || end == WALK_FOREIGN) && w->has_saved)
		return walk_curg(w, sample, layout);
	if (end == WALK_SIGNAL && sample->flags & SAMPLE_SIGNAL)
		return walk_curg(w, sample, layout);
	return end;
}

/* On the goroutine's own stack: the thread's g changes some instructions before SP does. */
static bool is_leaf_at_home(const struct sample_record *sample)
{
	return sample->goid && (!(sample->flags & SAMPLE_SYSTEM_STACK) ||
				sample->curg_sp - sample->sp <= SWITCH_FRAME_MAX);
}

void unwind_sample(const struct sample_record *sample, struct gobinary *binary, uint64_t bias,
		   struct unwound_stack *out, struct unwind_stats *stats)
{
	bool has_saved = sample->curg_pc && sample->curg_sp && !(sample->flags & SAMPLE_SIGNAL);
	struct walker w = {
		.info = binary ? gobinary_get_info(binary) : NULL,
		.table = binary ? gobinary_get_pclntab(binary) : NULL,
		.bias = bias,
		.out = out,
		.stats = stats,
		.has_saved = has_saved,
		.in_call = has_saved && sample->flags & SAMPLE_CURG_SYSCALL,
		.leaf_at_home = is_leaf_at_home(sample),
		.leaf_has_moved =
			has_saved && !(sample->flags & (SAMPLE_SYSTEM_STACK | SAMPLE_WAITING)),
	};
	struct layout layout;
	enum walk_end end = WALK_LOST;

	if (w.table)
		pclntab_begin(w.table);
	out->count = out->kernel_count = 0;
	out->truncated = false;
	out->gap_at = 0;
	out->goroutine_pc = 0;
	out->goroutine_exact = false;
	stats->stacks++;
	if (!lay_out(sample, &layout)) {
		out->truncated = true;
		stats->truncated++;
		return;
	}
	for (size_t i = 0; i < sample->kernel_count; i++)
		walk_emit(&w, layout.kernel[i], i == 0);
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
