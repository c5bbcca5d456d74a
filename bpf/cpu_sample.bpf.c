// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
/* The sampler: on a tick of a CPU's clock, who runs, for which span, and on which stack. */
#include "go_runtime.bpf.h"
#include "other_spans.bpf.h"
#include "sampled_span.bpf.h"
#include "user_stack.bpf.h"

/* The source is under either licence; the kernel knows this one. */
char LICENSE[] SEC("license") = "GPL";

const volatile struct target_tunables tunables = {};

/*
 * Distance from task_struct.stack to the saved user registers, measured by measure_registers on a
 * function of the agent itself: THREAD_SIZE and the padding above stand in no BTF. 0: unknown.
 */
__u64 user_regs_offset = 0;
__u64 own_context = 0;
__u32 own_tgid = 0; /* the agent's process, as the kernel side numbers it */

/* Attached by the agent to a function of its own and called once: ctx is the task's pt_regs. */
SEC("uprobe")
int measure_registers(struct pt_regs *ctx)
{
	struct task_struct *task = (void *)bpf_get_current_task();

	own_tgid = bpf_get_current_pid_tgid() >> 32;
	/* The verifier refuses arithmetic on a context: store it, load it back as a number. */
	*(volatile __u64 *)&own_context = (__u64)ctx;
	user_regs_offset = *(volatile __u64 *)&own_context - (__u64)BPF_CORE_READ(task, stack);
	return 0;
}

/* The user registers of a sample that was taken in the kernel. */
static __always_inline bool saved_user_registers(struct scratch *s, struct user_registers *to)
{
	struct task_struct *task = (void *)bpf_get_current_task();
	__u64 stack = (__u64)BPF_CORE_READ(task, stack);
	saved_registers *saved = (void *)s->window; /* too large for the stack */

	if (!user_regs_offset || !stack ||
	    bpf_probe_read_kernel(saved, sizeof(*saved), (void *)(stack + user_regs_offset)) ||
	    !registers_are_user(saved))
		return false;
	registers_take(to, saved);
	return true;
}

/* What the thread runs, and where the stacks end that it runs on; 0: unknown. */
struct sampled_goroutine {
	__u64 limit;	  /* of the stack that sp lies on */
	__u64 curg_limit; /* of the goroutine's own */
	bool settled;	  /* whom it works for, or that it works for nobody */
};

/*
 * In the vdso, which keeps no frame pointers, or in who calls it on another stack: where that was
 * called, as it has noted.
 */
static __always_inline bool read_vdso_caller(const struct target_process *target, __u64 m,
					     struct sample_record *record)
{
	__u64 sp = target->m_vdso_sp ? user_word(m + target->m_vdso_sp) : 0;

	if (!sp)
		return false;
	record->curg_sp = sp;
	record->curg_pc = user_word(m + target->m_vdso_sp + 8);
	record->curg_fp = VDSO_FP_SLOT(sp) ? user_word(VDSO_FP_SLOT(sp)) : 0;
	return true;
}

/* Where the goroutine last left its stack. */
static __always_inline void read_saved(const struct target_process *target, __u64 g,
				       struct sample_record *record)
{
	record->curg_sp = user_word(g + target->g_sched_sp);
	record->curg_pc = user_word(g + target->g_sched_pc);
	record->curg_fp = user_word(g + target->g_sched_bp);
	record->curg_lr = saved_link(target, g);
}

/* Where it is in a system call, or a call of C. */
static __always_inline bool read_syscall(const struct target_process *target, __u64 g,
					 struct sample_record *record)
{
	record->curg_sp = user_word(g + target->g_syscall_sp);
	if (!record->curg_sp)
		return false;
	record->flags |= SAMPLE_CURG_SYSCALL;
	record->curg_pc = user_word(g + target->g_syscall_pc);
	if (target->g_syscall_bp) {
		record->curg_fp = user_word(g + target->g_syscall_bp);
		return true;
	}
	record->curg_fp = user_word(g + target->g_sched_bp);
	if (record->curg_fp < record->curg_sp) /* asmcgocall's own frame record */
		record->curg_fp = user_word(record->curg_fp);
	return true;
}

/*
 * Finds the goroutine, and where its own stack is when the thread runs on another (g0, signal
 * stack, C).
 */
static __always_inline void read_goroutine(const struct target_process *target,
					   const struct user_registers *regs,
					   struct sample_record *record,
					   struct sampled_goroutine *found)
{
	__u64 g = current_g(target, regs), m, curg, stack[2] = {}; /* low, high */

	if (!g)
		return; /* a thread that C made, or one not yet started */
	if (!read_word(g + target->g_m, &m) || !read_word(m + target->m_curg, &curg)) {
		count_lost(LOSS_G_UNREADABLE);
		return;
	}
	record->g = curg;
	if (curg) {
		record->goid = user_word(curg + target->g_goid);
		if (target->flags & TARGET_SPANS && record->goid)
			found->settled = look_up_span(target, curg, record);
		bpf_probe_read_user(stack, sizeof(stack), (void *)(curg + target->g_stack_hi - 8));
		found->limit = found->curg_limit = stack[1];
	}
	if (curg == g) {
		/* systemstack, on its way back, changes g before it changes SP. */
		if (!read_vdso_caller(target, m, record) && stack[1] &&
		    regs->sp - stack[0] > stack[1] - stack[0])
			read_saved(target, g, record);
		return;
	}
	found->limit = user_word(g + target->g_stack_hi);
	record->flags |= SAMPLE_SYSTEM_STACK;
	if (curg && !read_syscall(target, curg, record))
		read_saved(target, curg, record);
}

/* Leaves room for announcements: a sample fewer is better than a process taken for another. */
static __always_inline void send(struct scratch *s, __u32 words)
{
	__u64 bytes = sizeof(s->record) + words * 8ull;
	__u64 waiting = bpf_ringbuf_query(&records, BPF_RB_AVAIL_DATA);
	__u64 size = bpf_ringbuf_query(&records, BPF_RB_RING_SIZE);

	if (bytes > sizeof(s->record) + sizeof(s->words))
		bytes = sizeof(s->record) + sizeof(s->words);
	s->record.header.size_bytes = bytes;
	if (waiting > size - size / 8 ||
	    bpf_ringbuf_output(&records, s, bytes,
			       waiting > size / 4 ? BPF_RB_FORCE_WAKEUP : BPF_RB_NO_WAKEUP))
		count_lost(LOSS_RING_FULL);
}

SEC("perf_event")
int cpu_sample(struct bpf_perf_event_data *ctx)
{
	__u64 id = bpf_get_current_pid_tgid();
	struct target_process *target = current_target();
	struct sampled_goroutine goroutine = {};
	struct user_registers regs = {};
	struct sample_record *record;
	struct scratch *s;
	__u32 zero = 0, words;

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
		if (!saved_user_registers(s, &regs)) {
			record->flags |= SAMPLE_NO_REGISTERS;
			count_lost(LOSS_REGS_UNREADABLE);
		}
	}
	if (FP_IS_ASIDE(regs.fp, regs.sp))
		regs.fp = user_word(regs.fp);
	record->pc = regs.pc;
	record->sp = regs.sp;
	record->fp = regs.fp;
	record->lr = regs.lr;
	if (target->flags & TARGET_PENDING)
		record->flags |= SAMPLE_PENDING;
	else if (target->flags & TARGET_GO)
		read_goroutine(target, &regs, record, &goroutine);
	words = read_stacks(ctx, s, target, goroutine.limit, goroutine.curg_limit);
	if (record->goid && !goroutine.settled)
		words = look_further(target, goroutine.curg_limit, s, words);
	send(s, words);
	return 0;
}
