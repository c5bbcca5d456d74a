// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
/* Takes all of the stacks that a walk may need, then goes on as spanprof's sampler. */
#include <linux/bpf.h>
#include <linux/bpf_perf_event.h>
#include <stddef.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include "stack_capture.h"

#define G_M	   48
#define G_STACK_LO 0
#define G_STACK_HI 1
#define STACK_MASK (2 * CAPTURE_STACK_MAX - 1)

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)
struct thread_struct {
	unsigned long fsbase;
};
struct task_struct {
	struct thread_struct thread;
};
#pragma clang attribute pop

char LICENSE[] SEC("license") = "GPL";

const volatile struct capture_config config = {};

/* One capture of each CPU: written here, then copied to the ring. */
struct scratch {
	struct stack_capture head;
	__u8 data[2 * CAPTURE_STACK_MAX + 8];
};
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 64);
	__type(key, __u32);
	__type(value, struct scratch);
} scratches SEC(".maps");

/* The sampler. */
struct {
	__uint(type, BPF_MAP_TYPE_PROG_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u32);
} next SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 64 << 20);
} captures SEC(".maps");

__u64 lost = 0;

static __always_inline __u64 user_word(__u64 address)
{
	__u64 word = 0;

	bpf_probe_read_user(&word, sizeof(word), (void *)address);
	return word;
}

/* From `from` upward; how many bytes. A stack of C ends where nobody says. */
static __always_inline __u32 copy_upward(__u8 *to, __u64 from, __u64 end)
{
	__u64 size = end - from;

	if (end <= from || size > CAPTURE_STACK_MAX)
		size = CAPTURE_STACK_MAX;
	for (int i = 0; i < 8; i++) {
		size &= STACK_MASK;
		if (size && size <= CAPTURE_STACK_MAX &&
		    !bpf_probe_read_user(to, size, (void *)from))
			return size;
		size = size / 2 & ~7ull;
	}
	return 0;
}

/* Up to `end`: what was never written cannot be read. Sets from where. */
static __always_inline __u32 copy_upper_part(__u8 *to, __u64 *from, __u64 end)
{
	__u64 size = end - *from;

	if (end <= *from || size > CAPTURE_STACK_MAX)
		size = CAPTURE_STACK_MAX;
	for (int i = 0; i < 8; i++) {
		size &= STACK_MASK;
		*from = end - size;
		if (size && size <= CAPTURE_STACK_MAX &&
		    !bpf_probe_read_user(to, size, (void *)*from))
			return size;
		size = size / 2 & ~7ull;
	}
	return 0;
}

static __always_inline void read_registers(struct bpf_perf_event_data *ctx,
					   struct task_struct *task, struct stack_capture *to)
{
	__u64 ip = ctx->regs.rip, sp = ctx->regs.rsp, bp = ctx->regs.rbp;
	struct pt_regs *saved;

	/* Read here and not below: the verifier refuses arithmetic on a context. */
	barrier_var(sp);
	barrier_var(bp);
	to->in_kernel = ip >> 63;
	if (to->in_kernel) {
		saved = (struct pt_regs *)bpf_task_pt_regs(task);
		ip = saved->rip;
		sp = saved->rsp;
		bp = saved->rbp;
	}
	to->ip = ip;
	to->sp = sp;
	to->bp = bp;
}

static __always_inline void capture(struct bpf_perf_event_data *ctx)
{
	__u64 id = bpf_get_current_pid_tgid(), m, low, high, size;
	struct task_struct *task = bpf_get_current_task_btf();
	__u32 cpu = bpf_get_smp_processor_id();
	struct scratch *s = bpf_map_lookup_elem(&scratches, &cpu);
	struct stack_capture *head = s ? &s->head : NULL;

	if (!head || id >> 32 != config.tgid)
		return;
	__builtin_memset(head, 0, offsetof(struct stack_capture, curg_stack_address));
	head->curg_stack_bytes = 0;
	head->time_ns = bpf_ktime_get_ns();
	head->tid = (__u32)id;
	read_registers(ctx, task, head);
	head->g = user_word(BPF_CORE_READ(task, thread.fsbase) - 8);
	m = head->g ? user_word(head->g + G_M) : 0;
	head->curg = m ? user_word(m + config.m_curg) : 0;
	head->vdso_sp = m ? user_word(m + config.m_vdso_sp) : 0;
	head->vdso_pc = m ? user_word(m + config.m_vdso_sp + 8) : 0;
	low = user_word(head->g + 8 * G_STACK_LO);
	high = user_word(head->g + 8 * G_STACK_HI);
	if (!head->g || head->sp < low || head->sp > high)
		high = 0;
	head->stack_bytes = copy_upward(s->data, head->sp, high);
	if (head->curg) {
		bpf_probe_read_user(head->curg_words, sizeof(head->curg_words), (void *)head->curg);
		low = head->curg_words[G_STACK_LO];
		high = head->curg_words[G_STACK_HI];
		size = head->stack_bytes;
		if ((head->sp < low || head->sp > high) && size <= CAPTURE_STACK_MAX)
			head->curg_stack_bytes = copy_upper_part(s->data + size, &low, high);
		head->curg_stack_address = low;
	}
	size = sizeof(*head) + (__u64)head->stack_bytes + head->curg_stack_bytes;
	if (size > sizeof(*s) || bpf_ringbuf_output(&captures, s, size, 0))
		__sync_fetch_and_add(&lost, 1);
}

SEC("perf_event")
int capture_stack(struct bpf_perf_event_data *ctx)
{
	capture(ctx);
	bpf_tail_call(ctx, &next, 0);
	return 0;
}
