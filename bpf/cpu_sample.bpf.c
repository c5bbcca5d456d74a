// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
/* The sampler: on a tick of a CPU's clock, who runs, for which span, and on which stack. */
#include "go_runtime.bpf.h"

/* The source is under either licence; the kernel knows this one. */
char LICENSE[] SEC("license") = "GPL";

const volatile struct target_tunables tunables = {};

/*
 * Distance from task_struct.stack to the saved user registers, measured by measure_registers on a
 * function of the agent itself: THREAD_SIZE and the padding above stand in no BTF. 0: unknown.
 */
__u64 user_regs_offset = 0;
__u64 own_context = 0;

struct scratch {
	struct sample_record record;
	__u64 words[RECORD_WORDS_MAX];
	__u16 walked; /* frames of the last walk_chain */
};

/* One record under construction on each CPU; nothing else sees it. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct scratch);
} scratches SEC(".maps");

/* Attached by the agent to a function of its own and called once: ctx is the task's pt_regs. */
SEC("uprobe")
int measure_registers(struct pt_regs *ctx)
{
	struct task_struct *task = (void *)bpf_get_current_task();

	/* The verifier refuses arithmetic on a context: store it, load it back as a number. */
	*(volatile __u64 *)&own_context = (__u64)ctx;
	user_regs_offset = *(volatile __u64 *)&own_context - (__u64)BPF_CORE_READ(task, stack);
	return 0;
}

/* The user registers of a sample that was taken in the kernel. */
static __always_inline bool saved_user_registers(struct user_registers *to)
{
	struct task_struct *task = (void *)bpf_get_current_task();
	__u64 stack = (__u64)BPF_CORE_READ(task, stack);
	saved_registers saved;

	if (!user_regs_offset || !stack ||
	    bpf_probe_read_kernel(&saved, sizeof(saved), (void *)(stack + user_regs_offset)) ||
	    !registers_are_user(&saved))
		return false;
	registers_take(to, &saved);
	return true;
}

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
	if (!target)
		return 0;
	for (; count < RECORD_CHAIN_MAX; count++) {
		__u64 slot = at + count;

		barrier_var(slot); /* so that the slot that is checked is the slot that is used */
		if (!fp || fp & 7 || slot >= RECORD_WORDS_MAX ||
		    bpf_probe_read_user(frame, sizeof(frame), (void *)fp) || !frame[1])
			break;
		if (in_range(&target->signal_entries[0], pc) && count) {
			signal_frame = fp + 8;
			break;
		}
		pc = frame[1];
		s->words[slot] = pc;
		if (frame[0] <= fp) {
			count++;
			break;
		}
		fp = frame[0];
	}
	s->walked = count;
	return signal_frame;
}

/* A chain is whole when the leaf's caller is Go code and the last frame is an outermost one. */
static __always_inline bool chain_is_whole(const struct scratch *s, __u32 at, __u32 count,
					   const struct target_process *target)
{
	__u32 end = at + count - 1;
	__u64 last, second;

	if (!count || at >= RECORD_WORDS_MAX || end >= RECORD_WORDS_MAX)
		return false;
	second = s->words[at];
	last = s->words[end];
	if (second < target->text_start || second >= target->text_end)
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
	__u64 bytes = (deep ? RECORD_STACK_DEEP : RECORD_STACK_SHORT) * 8;

	if (sp & 7 || at > RECORD_WORDS_MAX - RECORD_STACK_DEEP)
		return 0;
	if (limit > sp && limit - sp < bytes)
		bytes = limit - sp;
	bytes &= ~7ull;
	if (bytes > RECORD_STACK_DEEP * 8 || !bytes)
		return 0;
	if (!bpf_probe_read_user(&s->words[at], bytes, (void *)sp))
		return bytes / 8;
	if (!bpf_probe_read_user(&s->words[at], RECORD_STACK_SHORT * 8, (void *)sp))
		return RECORD_STACK_SHORT;
	if (!bpf_probe_read_user(&s->words[at], 8 * 8, (void *)sp))
		return 8;
	count_lost(LOSS_STACK_UNREADABLE);
	return 0;
}

static __always_inline void read_span_name(const struct target_process *target,
					   struct sample_span *span)
{
	__u64 name[2], size; /* string header: data, length */

	if (bpf_probe_read_user(name, sizeof(name), (void *)(span->address + target->span_name)))
		return;
	span->name_address = name[0];
	span->name_size = name[1] > 0xffff ? 0xffff : name[1];
	size = name[1];
	barrier_var(size);
	if (size > RECORD_SPAN_NAME_MAX)
		size = RECORD_SPAN_NAME_MAX;
	if (size && !bpf_probe_read_user(span->name, size, (void *)name[0]))
		span->name_copied = size;
}

/* The innermost span of the goroutine that is not known to have ended. */
static __always_inline enum span_state find_open_span(const struct target_process *target,
						      const struct goroutine *goroutine,
						      struct sample_span *span,
						      struct span_context *context)
{
	__s32 depth = goroutine->depth;

	for (__s32 i = GOROUTINE_SPANS - 1; i >= 0; i--) {
		enum span_state state;

		if (i >= depth)
			continue;
		state = span_look(target, &goroutine->spans[i], context);
		if (state == SPAN_ENDED)
			continue;
		span->address = goroutine->spans[i].address;
		__builtin_memcpy(span->span_id, &goroutine->spans[i].span_id, 8);
		span->level = i;
		return state;
	}
	return SPAN_ENDED;
}

static __always_inline void look_up_span(const struct target_process *target, __u64 g,
					 struct sample_record *record)
{
	struct goroutine *goroutine = goroutine_find(target, g, record->goid);
	struct sample_span *span = &record->span;
	struct span_context context = {};
	enum span_state state;

	if (!goroutine)
		return;
	state = find_open_span(target, goroutine, span, &context);
	if (state == SPAN_ENDED)
		return;
	if (*(volatile __u8 *)&span->level == 0 && goroutine->inherited)
		record->flags |= SAMPLE_SPAN_INHERITED;
	if (state == SPAN_UNREADABLE) {
		record->flags |= SAMPLE_SPAN_UNREADABLE;
		count_lost(LOSS_SPAN_UNREADABLE);
		return;
	}
	__builtin_memcpy(span->trace_id, context.trace_id, 16);
	span->trace_flags = context.flags;
	read_span_name(target, span);
	record->flags |= SAMPLE_SPAN;
	count_event(record->flags & SAMPLE_SPAN_INHERITED ? EVENT_SAMPLES_INHERITED
							  : EVENT_SAMPLES_IN_SPAN);
}

/*
 * Finds the goroutine, and where its own stack is when the thread runs on another (g0, signal
 * stack, C). Returns the end of the stack that sp lies on, 0 unknown; `*curg_limit` likewise.
 */
static __always_inline __u64 read_goroutine(const struct target_process *target,
					    const struct user_registers *regs,
					    struct sample_record *record, __u64 *curg_limit)
{
	__u64 g = current_g(target, regs), m, curg;

	if (!g)
		return 0; /* a thread that C made, or one not yet started */
	m = user_word(g + target->g_m);
	curg = m ? user_word(m + target->m_curg) : 0;
	if (!m) {
		count_lost(LOSS_G_UNREADABLE);
		return 0;
	}
	if (curg) {
		record->goid = user_word(curg + target->g_goid);
		if (target->flags & TARGET_SPANS && record->goid)
			look_up_span(target, curg, record);
	}
	if (curg)
		*curg_limit = user_word(curg + target->g_stack_hi);
	if (curg == g)
		return *curg_limit;
	record->flags |= SAMPLE_SYSTEM_STACK;
	if (curg) {
		record->curg_fp = user_word(curg + target->g_sched_bp);
		record->curg_sp = user_word(curg + target->g_syscall_sp);
		if (record->curg_sp) {
			record->flags |= SAMPLE_CURG_SYSCALL;
			record->curg_pc = user_word(curg + target->g_syscall_pc);
		} else {
			record->curg_sp = user_word(curg + target->g_sched_sp);
			record->curg_pc = user_word(curg + target->g_sched_pc);
		}
	}
	return user_word(g + target->g_stack_hi);
}

/*
 * Where the signal frame lies while no frame of the handler stands above it: at the handler's first
 * instruction SP points to it; on the way back, in the restorer (Go's or C's), right behind its
 * first word.
 */
static __always_inline __u64 signal_frame_of_leaf(const struct sample_record *record,
						  const struct target_process *target)
{
	if (in_range(&target->signal_entries[0], record->pc) ||
	    in_range(&target->signal_entries[1], record->pc))
		return record->sp;
	if (in_range(&target->signal_return, record->pc) || record->pc < target->text_start ||
	    record->pc >= target->text_end)
		return record->sp - 8;
	return 0;
}

/* In a signal handler: the registers that the signal interrupted become the ones to go on with. */
static __always_inline void take_interrupted(struct sample_record *record,
					     const struct target_process *target,
					     __u64 signal_frame)
{
	struct user_registers interrupted;

	if (signal_frame && record->flags & SAMPLE_SYSTEM_STACK)
		record->curg_sp = 0; /* saved when it last left the CPU: not where it is now */
	if (!signal_frame)
		signal_frame = signal_frame_of_leaf(record, target);
	if (!signal_frame || !signal_frame_registers(signal_frame, &interrupted) ||
	    interrupted.pc < target->text_start || interrupted.pc >= target->text_end)
		return;
	record->flags |= SAMPLE_SIGNAL;
	record->curg_pc = interrupted.pc;
	record->curg_sp = interrupted.sp;
	record->curg_fp = interrupted.fp;
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
	take_interrupted(record, target, signal_frame);
	two_stacks = record->curg_sp;
	if (two_stacks) {
		walk_chain(at, record->curg_fp);
		record->curg_count = any_of(s->walked);
		whole = chain_is_whole(s, at, any_of(record->curg_count), target);
		at += any_of(record->curg_count);
	}
	if (record->chain_count == RECORD_CHAIN_MAX || record->curg_count == RECORD_CHAIN_MAX) {
		record->flags |= SAMPLE_CHAIN_CUT;
		count_lost(LOSS_CHAIN_DEPTH);
	}
	if (record->flags & SAMPLE_IN_KERNEL && tunables.kernel_stacks &&
	    at <= RECORD_WORDS_MAX - RECORD_KERNEL_MAX) {
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

static __always_inline void send(struct scratch *s, __u32 words)
{
	__u64 bytes = sizeof(s->record) + words * 8ull;
	__u64 waiting = bpf_ringbuf_query(&records, BPF_RB_AVAIL_DATA);
	__u64 size = bpf_ringbuf_query(&records, BPF_RB_RING_SIZE);

	if (bytes > sizeof(s->record) + sizeof(s->words))
		bytes = sizeof(s->record) + sizeof(s->words);
	s->record.header.size_bytes = bytes;
	if (bpf_ringbuf_output(&records, s, bytes,
			       waiting > size / 4 ? BPF_RB_FORCE_WAKEUP : BPF_RB_NO_WAKEUP))
		count_lost(LOSS_RING_FULL);
}

SEC("perf_event")
int cpu_sample(struct bpf_perf_event_data *ctx)
{
	__u64 limit = 0, curg_limit = 0, id = bpf_get_current_pid_tgid();
	struct target_process *target = current_target();
	struct user_registers regs = {};
	struct sample_record *record;
	struct scratch *s;
	__u32 zero = 0;

	count_event(EVENT_TICKS);
	if (!target)
		return 0;
	s = bpf_map_lookup_elem(&scratches, &zero);
	if (!s)
		return 0;
	record = &s->record;
	__builtin_memset(record, 0, sizeof(*record));
	record->header.type = RECORD_SAMPLE;
	record->time_ns = bpf_ktime_get_ns();
	record->pid = id >> 32;
	record->tid = id;
	record->generation = target->generation;
	count_event(EVENT_SAMPLES);

	if (!(ctx->regs.IP_FIELD >> 63)) {
		registers_take(&regs, &ctx->regs);
	} else {
		record->flags |= SAMPLE_IN_KERNEL;
		if (!saved_user_registers(&regs)) {
			record->flags |= SAMPLE_NO_REGISTERS;
			count_lost(LOSS_REGS_UNREADABLE);
		}
	}
	record->pc = regs.pc;
	record->sp = regs.sp;
	record->fp = regs.fp;
	record->lr = regs.lr;
	if (target->flags & TARGET_PENDING)
		record->flags |= SAMPLE_PENDING;
	else if (target->flags & TARGET_GO)
		limit = read_goroutine(target, &regs, record, &curg_limit);
	send(s, read_stacks(ctx, s, target, limit, curg_limit));
	return 0;
}
