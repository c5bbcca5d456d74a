/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* The stacks of a sample: chains along frame pointers, kernel frames, copies of stack words. */
#ifndef USER_STACK_BPF_H
#define USER_STACK_BPF_H

#include "go_runtime.bpf.h"

#define ROOT_WALK_MAX	 1024 /* frames beyond RECORD_CHAIN_MAX */
#define SIGNAL_ENTRY_MAX 128  /* bytes of the frame of a signal handler's entry */

struct scratch {
	struct sample_record record;
	__u64 words[RECORD_WORDS_MAX];
	__u16 walked;  /* words of the last walk */
	bool moved;    /* it has crossed to another stack */
	__u64 next_fp; /* where it stopped for want of room; 0: it did not */
	__u64 window[RECORD_STACK_DEEP];
};

/* One record under construction on each CPU; nothing else sees it. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct scratch);
} scratches SEC(".maps");

/*
 * A count as the verifier should see it: any 16-bit number, not the constant of one path. With the
 * constants it follows each length of each walk to the end of the program, and gives up.
 */
#define any_of(count) (*(const volatile __u16 *)&(count))

static __always_inline bool in_range(const struct target_range *range, __u64 address)
{
	return address - range->start < range->end - range->start;
}

/*
 * Whether a frame on the goroutine's stack has its caller's on another one: the runtime moves a
 * stack that grows frame by frame, the leaf's first.
 */
static __always_inline bool leaves_stack(const struct target_process *target, __u64 g, __u64 fp,
					 __u64 caller_fp)
{
	__u64 high = g ? user_word(g + target->g_stack_hi) : 0;
	__u64 low = g ? user_word(g + target->g_stack_hi - 8) : 0;

	return fp - low < high - low && caller_fp - low >= high - low;
}

/*
 * Adds a word to the walk at words[at], counted in walked; a ring keeps the last RECORD_ROOT_MAX.
 * False: there is no more room.
 */
static __always_inline bool append(struct scratch *s, __u64 at, bool ring, __u64 word)
{
	__u64 count = any_of(s->walked), slot = at + (ring ? count % RECORD_ROOT_MAX : count);

	barrier_var(slot); /* so that the slot that is checked is the slot that is used */
	if ((!ring && count >= RECORD_CHAIN_MAX) || slot >= RECORD_STACKS_MAX)
		return false;
	s->words[slot] = word;
	s->walked = count + 1;
	return true;
}

/*
 * Adds what lies above the return address of the frame record at `fp`, while that is code, too. Not
 * static, as walk_chain.
 */
__noinline int append_above(__u32 at, __u32 ring, __u64 fp)
{
	__u64 above[RECORD_ABOVE_MAX];
	struct target_process *target = current_target();
	__u32 zero = 0;
	struct scratch *s = bpf_map_lookup_elem(&scratches, &zero);

	if (!s || !target || bpf_probe_read_user(above, sizeof(above), (void *)(fp + 16)))
		return 0;
	for (int i = 0; i < RECORD_ABOVE_MAX; i++)
		if (!in_text(target, above[i]) || !append(s, at, ring, above[i] | RECORD_ABOVE))
			break;
	return 0;
}

/*
 * Follows frame pointers from `fp`; appends return addresses at words[at] and counts them in
 * walked. Stops at the frame of a signal handler's entry: behind it lies what the signal
 * interrupted. Returns the address of that signal frame, or 0. Not static: the verifier then looks
 * at the loop once, for any arguments; clang 19 leaves those out that have no effect, and then it
 * refuses the call.
 */
__noinline __u64 walk_chain(__u32 at, __u64 fp)
{
	__u64 frame[2]; /* caller's frame pointer, return address */
	struct target_process *target = current_target();
	__u32 zero = 0, count = 0;
	struct scratch *s = bpf_map_lookup_elem(&scratches, &zero);
	__u64 signal_frame = 0, pc = 0;

	if (!s)
		return 0;
	s->walked = 0;
	s->moved = false;
	s->next_fp = fp;
	if (!target)
		return 0;
	for (; count < RECORD_CHAIN_MAX; count++) {
		if (!fp || fp & 7 || bpf_probe_read_user(frame, sizeof(frame), (void *)fp) ||
		    !frame[1])
			break;
		if (in_range(&target->signal_entries[0], pc)) {
			signal_frame = fp + 8;
			break;
		}
		pc = frame[1];
		if (!append(s, at, false, pc))
			return 0;
		if (target->flags & TARGET_FRAMELESS_CALLERS)
			append_above(at, false, fp);
		if (frame[0] <= fp) {
			if (s->moved || !frame[0] ||
			    !leaves_stack(target, s->record.g, fp, frame[0]))
				break;
			s->moved = true;
		}
		s->next_fp = frame[0];
		/* Back from memory, the verifier knows nothing of it: a frame is like any other. */
		fp = *(volatile __u64 *)&s->next_fp;
	}
	if (count < RECORD_CHAIN_MAX)
		s->next_fp = 0;
	return signal_frame;
}

/*
 * Goes on where walk_chain had no more room, and keeps the outermost words in a ring at words[at].
 * Returns how many there were.
 */
__noinline __u32 walk_root(__u32 at)
{
	__u64 frame[2]; /* caller's frame pointer, return address */
	struct target_process *target = current_target();
	__u32 zero = 0;
	struct scratch *s = bpf_map_lookup_elem(&scratches, &zero);
	__u64 fp;

	if (!s || !target)
		return 0;
	s->walked = 0;
	fp = s->next_fp;
	for (__u32 i = 0; i < ROOT_WALK_MAX; i++) {
		if (!fp || fp & 7 || bpf_probe_read_user(frame, sizeof(frame), (void *)fp) ||
		    !frame[1] || !append(s, at, true, frame[1]))
			break;
		if (target->flags & TARGET_FRAMELESS_CALLERS)
			append_above(at, true, fp);
		if (frame[0] <= fp)
			break;
		s->next_fp = frame[0];
		fp = *(volatile __u64 *)&s->next_fp;
	}
	return any_of(s->walked);
}

/*
 * The first words above `sp` that look like a frame record: for where the frame-pointer register
 * holds data. The reader finds out whether it is one. Not static, as walk_chain. 0: none.
 */
__noinline __u64 find_frame(__u64 sp, __u64 limit)
{
	struct target_process *target = current_target();
	__u32 zero = 0;
	struct scratch *s = bpf_map_lookup_elem(&scratches, &zero);
	__u64 bytes = RECORD_STACK_DEEP * 8;

	if (!s || !target || sp & 7 || limit <= sp)
		return 0;
	if (limit - sp < bytes)
		bytes = limit - sp;
	bytes &= ~7ull;
	barrier_var(bytes); /* so that what is checked is what is used */
	if (!bytes || bytes > sizeof(s->window) ||
	    bpf_probe_read_user(s->window, bytes, (void *)sp))
		return 0;
	for (__u32 i = 0; i + 1 < RECORD_STACK_DEEP; i++) {
		__u64 fp = s->window[i], pc = s->window[i + 1];

		if (i + 1 >= bytes / 8)
			break;
		if (fp > sp + 8 * i && fp < limit && !(fp & 7) && in_text(target, pc))
			return sp + 8 * i;
	}
	return 0;
}

/* A chain is whole when the leaf's caller is Go code and the last word is an outermost frame's. */
static __always_inline bool chain_is_whole(const struct scratch *s, __u32 at, __u32 count,
					   const struct target_process *target)
{
	__u32 end = at + count - 1;
	__u64 last, second;

	if (!count || at >= RECORD_STACKS_MAX || end >= RECORD_STACKS_MAX)
		return false;
	second = s->words[at];
	last = s->words[end];
	if (!in_text(target, second))
		return false;
	for (int i = 0; i < TARGET_TOP_FRAMES; i++)
		if (in_range(&target->top_frames[i], last))
			return true;
	return false;
}

/* Copies stack words from `sp`, below `limit` where that is known. Returns their number. */
static __always_inline __u32 copy_stack(struct scratch *s, __u32 at, __u64 sp, __u64 limit,
					bool deep)
{
	__u64 bytes = (deep ? RECORD_STACK_DEEP : RECORD_STACK_SHORT) * 8, place = at;

	barrier_var(place); /* so that what is checked is what is used */
	if (sp & 7 || place > RECORD_STACKS_MAX - RECORD_STACK_DEEP)
		return 0;
	if (limit > sp && limit - sp < bytes)
		bytes = limit - sp;
	bytes &= ~7ull;
	if (bytes > RECORD_STACK_DEEP * 8 || !bytes)
		return 0;
	if (!bpf_probe_read_user(&s->words[place], bytes, (void *)sp))
		return bytes / 8;
	if (!bpf_probe_read_user(&s->words[place], RECORD_STACK_SHORT * 8, (void *)sp))
		return RECORD_STACK_SHORT;
	if (!bpf_probe_read_user(&s->words[place], 8 * 8, (void *)sp))
		return 8;
	count_lost(LOSS_STACK_UNREADABLE);
	return 0;
}

/*
 * A handler's entry has the signal frame where SP points at its first instruction, then above the
 * registers that it saves, right above its own frame record once it has one.
 */
static __always_inline __u64 signal_frame_of_entry(const struct sample_record *record,
						   const struct target_range *entry)
{
	if (record->pc == entry->start)
		return record->sp;
	if (record->fp - record->sp < SIGNAL_ENTRY_MAX)
		return record->fp + 8;
	return record->sp + SIGNAL_ENTRY_SAVED;
}

/*
 * Where the signal frame lies while no frame of the handler stands above its entry; on the way
 * back, in the restorer (Go's or C's), SP points right behind its first word.
 */
static __always_inline __u64 signal_frame_of_leaf(const struct sample_record *record,
						  const struct target_process *target)
{
	if (in_range(&target->signal_entries[0], record->pc))
		return signal_frame_of_entry(record, &target->signal_entries[0]);
	if (in_range(&target->signal_entries[1], record->pc))
		return record->sp;
	if (in_range(&target->signal_return, record->pc) || !in_text(target, record->pc))
		return record->sp - 8;
	return 0;
}

/* In a signal handler: the registers that the signal interrupted become the ones to go on with. */
static __always_inline void take_interrupted(struct sample_record *record,
					     const struct target_process *target,
					     __u64 signal_frame)
{
	struct user_registers interrupted;

	/* Those of g.sched were saved when it last left the CPU: that is not where it is now. */
	if (signal_frame && record->flags & SAMPLE_SYSTEM_STACK &&
	    !(record->flags & SAMPLE_CURG_SYSCALL))
		record->curg_sp = 0;
	if (!signal_frame)
		signal_frame = signal_frame_of_leaf(record, target);
	if (!signal_frame || !signal_frame_registers(signal_frame, &interrupted) ||
	    !in_text(target, interrupted.pc))
		return;
	record->flags = (record->flags | SAMPLE_SIGNAL) & ~SAMPLE_CURG_SYSCALL;
	record->curg_pc = interrupted.pc;
	record->curg_sp = interrupted.sp;
	record->curg_fp = interrupted.fp;
	record->curg_lr = interrupted.lr;
}

/*
 * Without a chain from the frame-pointer register: from the first frame record above SP, when that
 * leads to an outermost frame. Returns the frames at words[0].
 */
static __always_inline __u32 walk_from_words(struct sample_record *record, struct scratch *s,
					     const struct target_process *target, __u64 limit)
{
	__u64 fp = find_frame(record->sp, limit);

	if (fp) {
		walk_chain(0, fp);
		if (chain_is_whole(s, 0, any_of(s->walked), target))
			record->fp = fp;
		else
			walk_chain(0, record->fp);
		record->chain_count = any_of(s->walked);
	}
	return any_of(record->chain_count);
}

/* Fills the words behind the record; returns how many are used. */
static __always_inline __u32 read_stacks(struct bpf_perf_event_data *ctx, struct scratch *s,
					 const struct target_process *target, __u64 limit,
					 __u64 curg_limit)
{
	struct sample_record *record = &s->record;
	bool whole, two_stacks;
	__u64 signal_frame;
	__u32 at;

	signal_frame = walk_chain(0, record->fp);
	at = record->chain_count = any_of(s->walked);
	whole = chain_is_whole(s, 0, at, target);
	if (!whole && !signal_frame && !record->curg_sp)
		at = walk_from_words(record, s, target, limit);
	take_interrupted(record, target, signal_frame);
	two_stacks = record->curg_sp;
	if (two_stacks) {
		__u64 rest = s->next_fp;

		walk_chain(at, record->curg_fp);
		if (!s->next_fp)
			s->next_fp = rest;
		record->curg_count = any_of(s->walked);
		whole = chain_is_whole(s, at, any_of(record->curg_count), target);
		at += any_of(record->curg_count);
	}
	if (s->next_fp) {
		__u32 count = walk_root(at);

		record->flags |= SAMPLE_CHAIN_CUT;
		count_lost(LOSS_CHAIN_DEPTH);
		record->root_count = count < RECORD_ROOT_MAX ? count : RECORD_ROOT_MAX;
		record->root_first = count < RECORD_ROOT_MAX ? 0 : count % RECORD_ROOT_MAX;
		at += any_of(record->root_count);
	}
	if (record->flags & SAMPLE_IN_KERNEL && tunables.kernel_stacks &&
	    at <= RECORD_STACKS_MAX - RECORD_KERNEL_MAX) {
		long bytes = bpf_get_stack(ctx, &s->words[at], RECORD_KERNEL_MAX * 8, 0);

		if (bytes > 0 && bytes <= RECORD_KERNEL_MAX * 8)
			record->kernel_count = (__u64)bytes / 8;
		at += any_of(record->kernel_count);
	}
	if (!whole && !(record->flags & SAMPLE_NO_REGISTERS)) {
		record->flags |= SAMPLE_DEEP;
		count_event(EVENT_SAMPLES_DEEP);
	}
	record->stack_count = copy_stack(s, at, record->sp, limit, !whole && !two_stacks);
	at += any_of(record->stack_count);
	if (two_stacks) {
		record->curg_stack_count = copy_stack(s, at, record->curg_sp, curg_limit, !whole);
		at += any_of(record->curg_stack_count);
	}
	return at;
}

#endif
