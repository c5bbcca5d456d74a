// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
/* Which goroutine works for which span: probes on the SDK's span start and on Go's `go`. */
#include "go_runtime.bpf.h"

/* Copied into the store for a goroutine seen for the first time; then filled in place. */
static const struct goroutine no_spans = {};

static __always_inline struct goroutine *goroutine_make(const struct target_process *target,
							__u64 g)
{
	struct goroutine_key key = {.generation = target->generation, .g = g};
	struct goroutine *made = bpf_map_lookup_elem(&goroutines, &key);

	if (made) {
		made->depth = 0;
		made->inherited = 0;
		return made;
	}
	if (bpf_map_update_elem(&goroutines, &key, &no_spans, BPF_ANY)) {
		count_lost(LOSS_GOROUTINES_FULL);
		return NULL;
	}
	count_event(EVENT_GOROUTINES_STORED);
	return bpf_map_lookup_elem(&goroutines, &key);
}

/* Closes the gaps that ended spans leave; when all 16 are open, forgets the oldest. */
static __always_inline void make_room(const struct target_process *target,
				      struct goroutine *goroutine)
{
	*(volatile __u64 *)&goroutine->kept = 0;
	for (__u32 i = 0; i < GOROUTINE_SPANS; i++) {
		struct open_span span = goroutine->spans[i];
		__u64 kept = *(volatile __u64 *)&goroutine->kept;

		if (kept >= GOROUTINE_SPANS || span_look(target, &span) == SPAN_ENDED)
			continue;
		goroutine->spans[kept] = span;
		*(volatile __u64 *)&goroutine->kept = kept + 1;
		if (kept == 0 && i != 0)
			goroutine->inherited = 0;
	}
	if (goroutine->kept >= GOROUTINE_SPANS) {
		for (__u32 i = 1; i < GOROUTINE_SPANS; i++)
			goroutine->spans[i - 1] = goroutine->spans[i];
		goroutine->kept = GOROUTINE_SPANS - 1;
		goroutine->inherited = 0;
		count_lost(LOSS_SPAN_DEPTH);
	}
	goroutine->depth = goroutine->kept;
}

/* Drops ended spans from the top: the span started last usually ends first. */
static __always_inline void drop_ended(const struct target_process *target,
				       struct goroutine *goroutine)
{
	for (int i = 0; i < GOROUTINE_SPANS; i++) {
		__u32 top = *(volatile __u32 *)&goroutine->depth - 1;

		if (top >= GOROUTINE_SPANS ||
		    span_look(target, &goroutine->spans[top]) != SPAN_ENDED)
			break;
		goroutine->depth = top;
	}
	if (!goroutine->depth)
		goroutine->inherited = 0;
	else if (goroutine->depth >= GOROUTINE_SPANS)
		make_room(target, goroutine);
}

/* The agent attaches the `go` probe now: programs that start no spans do not pay for it. */
static __always_inline void announce_first_span(struct target_process *target)
{
	__u32 pid = bpf_get_current_pid_tgid() >> 32;

	if (announce(RECORD_FIRST_SPAN, pid, 0, target->generation, 0))
		target->flags |= TARGET_SPANS_SEEN;
}

static __always_inline void span_push(struct target_process *target, __u64 g, __u64 span)
{
	__u64 goid = user_word(g + target->g_goid), span_id = 0;
	__u64 at = span + target->span_context + target->context_span_id;
	struct goroutine *goroutine;
	__u32 top, last;

	count_event(EVENT_SPANS_STARTED);
	if (!(target->flags & TARGET_SPANS_SEEN))
		announce_first_span(target);
	if (!goid || bpf_probe_read_user(&span_id, sizeof(span_id), (void *)at) || !span_id) {
		count_lost(LOSS_SPAN_START_UNREADABLE);
		return;
	}
	goroutine = goroutine_find(target, g, goid);
	if (goroutine) {
		drop_ended(target, goroutine);
	} else {
		goroutine = goroutine_make(target, g);
		if (!goroutine)
			return;
	}
	top = *(volatile __u32 *)&goroutine->depth;
	if (top >= GOROUTINE_SPANS)
		return;
	last = top - 1;
	barrier_var(last); /* Linux 5.10 does not conclude from `top` that this is an index */
	if (last < GOROUTINE_SPANS && goroutine->spans[last].address == span &&
	    goroutine->spans[last].span_id == span_id)
		return; /* the probe is attached twice, or its instruction ran again */
	goroutine->spans[top].address = span;
	goroutine->spans[top].span_id = span_id;
	barrier();
	goroutine->depth = top + 1; /* a sample on this CPU may come between any two stores */
	goroutine->goid = goid;
}

/* The target, when the probe is to act in this process at all. */
static __always_inline struct target_process *span_target(void)
{
	struct target_process *target = current_target();

	return target && target->flags & TARGET_SPANS ? target : NULL;
}

/* (*recordingSpan).runtimeTrace: the receiver is the finished span. */
SEC("uprobe")
int span_start_runtime_trace(struct pt_regs *ctx)
{
	saved_registers *regs = (saved_registers *)ctx;
	struct target_process *target = span_target();

	if (!target)
		return 0;
	if (target->flags & TARGET_START_ON_BRANCH && stack_check_branches(regs))
		return 0;
	span_push(target, GO_G(regs), GO_ARGUMENT_0(regs));
	return 0;
}

/* The call of context.WithValue in (*tracer).Start: the value is the span, in an interface. */
SEC("uprobe")
int span_start_with_value(struct pt_regs *ctx)
{
	saved_registers *regs = (saved_registers *)ctx;
	struct target_process *target = span_target();

	if (target && GO_ARGUMENT_4(regs) == target->span_type)
		span_push(target, GO_G(regs), GO_ARGUMENT_5(regs));
	return 0;
}

/*
 * The call of runtime.runqput in newproc.func1, on g0: the new goroutine is complete and has not
 * run. It inherits the innermost open span of its creator.
 */
SEC("uprobe")
int goroutine_start(struct pt_regs *ctx)
{
	saved_registers *regs = (saved_registers *)ctx;
	struct target_process *target = span_target();
	struct goroutine *parent, *child;
	struct open_span open = {};
	__u64 new_g, m, curg;

	if (!target)
		return 0;
	count_event(EVENT_GO_STATEMENTS);
	new_g = GO_ARGUMENT_1(regs);
	if (!read_word(GO_G(regs) + target->g_m, &m) || !read_word(m + target->m_curg, &curg)) {
		count_lost(LOSS_G_UNREADABLE);
		return 0;
	}
	parent = goroutine_find(target, curg, user_word(curg + target->g_goid));
	if (!parent)
		return 0;
	for (__s32 i = GOROUTINE_SPANS - 1; i >= 0; i--) {
		if (i >= (__s32)parent->depth)
			continue;
		if (span_look(target, &parent->spans[i]) == SPAN_ENDED)
			continue;
		open = parent->spans[i];
		break;
	}
	if (!open.address)
		return 0;
	child = goroutine_make(target, new_g);
	if (!child)
		return 0;
	child->spans[0] = open;
	child->inherited = 1;
	child->depth = 1;
	child->goid = user_word(new_g + target->g_goid);
	return 0;
}
