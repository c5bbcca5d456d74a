// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
/* Which goroutine works for which span: probes on the SDK's span start and on Go's `go`. */
#include "ended_span.bpf.h"
#include "go_runtime.bpf.h"

/* Copied into the store for a goroutine seen for the first time; then filled in place. */
static const struct goroutine no_spans = {};

/* What is left of a goroutine that is gone: its last spans had no successor that dropped them. */
static __always_inline void harvest_left(const struct goroutine *goroutine)
{
	for (__u32 i = 0; i < GOROUTINE_SPANS; i++) {
		struct open_span span;

		if (i >= *(volatile const __u32 *)&goroutine->depth)
			break;
		if (!i && goroutine->inherited)
			continue;
		span = goroutine->spans[i];
		harvest(look_at_span(WINDOW_OF_PROBE, span.address, span.span_id), span.address);
	}
}

static __always_inline struct goroutine *goroutine_make(const struct target_process *target,
							__u64 g)
{
	struct goroutine_key key = {.generation = target->generation, .g = g};
	struct goroutine *made = bpf_map_lookup_elem(&goroutines, &key);

	if (made) {
		harvest_left(made);
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
static __always_inline void make_room(struct goroutine *goroutine)
{
	*(volatile __u64 *)&goroutine->kept = 0;
	for (__u32 i = 0; i < GOROUTINE_SPANS; i++) {
		struct open_span span = goroutine->spans[i];
		__u64 kept = *(volatile __u64 *)&goroutine->kept;
		int state = look_at_span(WINDOW_OF_PROBE, span.address, span.span_id);

		if (kept >= GOROUTINE_SPANS)
			continue;
		if (span_is_over(state)) {
			if (i || !goroutine->inherited)
				harvest(state, span.address);
			continue;
		}
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

/*
 * Drops ended spans from the top: the span started last usually ends first. The probe's window then
 * holds what was read of the new top.
 */
static __always_inline void drop_ended(struct goroutine *goroutine)
{
	for (int i = 0; i < GOROUTINE_SPANS; i++) {
		__u32 top = *(volatile __u32 *)&goroutine->depth - 1;
		struct open_span span;
		int state;

		if (top >= GOROUTINE_SPANS)
			break;
		span = goroutine->spans[top];
		state = look_at_span(WINDOW_OF_PROBE, span.address, span.span_id);
		if (!span_is_over(state))
			break;
		if (top || !goroutine->inherited)
			harvest(state, span.address);
		goroutine->depth = top;
	}
	if (!goroutine->depth)
		goroutine->inherited = 0;
}

/* The agent attaches the `go` probe now: programs that start no spans do not pay for it. */
static __always_inline void announce_first_span(struct target_process *target)
{
	__u32 pid = bpf_get_current_pid_tgid() >> 32;

	if (announce(RECORD_FIRST_SPAN, pid, 0, target->generation, 0))
		target->flags |= TARGET_SPANS_SEEN;
}

/* Puts it on top. The caller has dropped what has ended. */
static __always_inline void push(struct goroutine *goroutine, __u64 address, __u64 span_id)
{
	__u32 top, last;

	if (goroutine->depth >= GOROUTINE_SPANS)
		make_room(goroutine);
	top = *(volatile __u32 *)&goroutine->depth;
	if (top >= GOROUTINE_SPANS)
		return;
	last = top - 1;
	barrier_var(last); /* Linux 5.10 does not conclude from `top` that this is an index */
	if (last < GOROUTINE_SPANS && goroutine->spans[last].address == address &&
	    goroutine->spans[last].span_id == span_id)
		return; /* the probe is attached twice, or its instruction ran again */
	goroutine->spans[top].address = address;
	goroutine->spans[top].span_id = span_id;
	barrier();
	goroutine->depth = top + 1; /* a sample on this CPU may come between any two stores */
}

/* A span that is sampled out hid the one below it: a child of that one shows that it is back. */
static __always_inline void unhide(const struct target_process *target, struct goroutine *goroutine,
				   __u64 span)
{
	__u32 top = *(volatile __u32 *)&goroutine->depth - 1;

	barrier_var(top);
	if (top >= GOROUTINE_SPANS || !(goroutine->spans[top].address & OPEN_SPAN_HIDES) ||
	    target->span.parent_id == TARGET_SPAN_NO_FIELD)
		return;
	if (user_word(span + target->span.window + target->span.parent_id) ==
	    goroutine->spans[top].span_id)
		goroutine->depth = top;
}

static __always_inline void span_started(struct target_process *target, __u64 g, __u64 span)
{
	__u64 goid = user_word(g + target->g_goid), span_id = 0;
	struct span_window *window = open_window(target, WINDOW_OF_PROBE);
	struct goroutine *goroutine;

	count_event(EVENT_SPANS_STARTED);
	__sync_fetch_and_add(&target->spans_started, 1);
	if (!(target->flags & TARGET_SPANS_SEEN))
		announce_first_span(target);
	if (!window || !goid ||
	    !read_word(span + target->span.window + target->span.span_id, &span_id) || !span_id) {
		count_lost(LOSS_SPAN_START_UNREADABLE);
		return;
	}
	goroutine = goroutine_find(target, 0, g, goid);
	if (goroutine) {
		drop_ended(goroutine);
		unhide(target, goroutine, span);
	} else {
		goroutine = goroutine_make(target, g);
		if (!goroutine)
			return;
	}
	push(goroutine, span, span_id);
	goroutine->goid = goid;
}

/* The innermost span of the goroutine as far as it is stored, the probe's window on it. */
static __always_inline int find_current(const struct target_process *target, __u64 g, __u64 goid,
					struct open_span *open)
{
	struct goroutine *goroutine = goroutine_find(target, 0, g, goid);
	int state = SPAN_ENDED;
	__u8 level;

	if (goroutine)
		state = find_open_span(goroutine, WINDOW_OF_PROBE, open, &level);
	if (state == SPAN_ENDED) {
		goroutine = goroutine_find(target, GOROUTINE_OLDER, g, goid);
		if (goroutine)
			state = find_open_span(goroutine, WINDOW_OF_PROBE, open, &level);
	}
	return state;
}

/*
 * A span that is sampled out is known by its SpanContext alone, and its end does not show. Where a
 * span of another trace is open, that one must not be taken for it.
 */
static __always_inline void unsampled_started(struct target_process *target, __u64 g, __u64 span)
{
	__u64 trace[2], goid = user_word(g + target->g_goid);
	struct span_window *window = open_window(target, WINDOW_OF_PROBE);
	struct goroutine *goroutine;
	struct open_span open = {};

	count_event(EVENT_SPANS_UNSAMPLED);
	__sync_fetch_and_add(&target->spans_unsampled, 1);
	goroutine = goroutine_find(target, 0, g, goid);
	if (goroutine && window)
		drop_ended(goroutine);
	if (!window || find_current(target, g, goid, &open) != SPAN_OPEN ||
	    open.address & OPEN_SPAN_HIDES ||
	    bpf_probe_read_user(trace, sizeof(trace),
				(void *)(span + target->span.unsampled_trace_id)))
		return;
	if (trace[0] == window_word(window, window->at.trace_id) &&
	    trace[1] == window_next_word(window, window->at.trace_id))
		return;
	if (!goroutine)
		goroutine = goroutine_make(target, g);
	if (!goroutine)
		return;
	push(goroutine, open.address | OPEN_SPAN_HIDES, open.span_id);
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
	span_started(target, GO_G(regs), GO_ARGUMENT_0(regs));
	return 0;
}

/*
 * The call of context.WithValue in (*tracer).Start: the value is the span, in an interface, and its
 * type tells whether it is recorded or sampled out.
 */
SEC("uprobe")
int span_start_with_value(struct pt_regs *ctx)
{
	saved_registers *regs = (saved_registers *)ctx;
	struct target_process *target = span_target();
	__u64 type;

	if (!target)
		return 0;
	type = GO_ARGUMENT_4(regs);
	if (!((type ^ target->span_type) & target->type_mask))
		span_started(target, GO_G(regs), GO_ARGUMENT_5(regs));
	else if (!((type ^ target->unsampled_type) & target->type_mask))
		unsampled_started(target, GO_G(regs), GO_ARGUMENT_5(regs));
	return 0;
}

/*
 * The return of (*tracer).Start: its second result is the span, in an interface whose table says
 * what type it is.
 */
SEC("uprobe")
int span_start_return(struct pt_regs *ctx)
{
	saved_registers *regs = (saved_registers *)ctx;
	struct target_process *target = span_target();
	__u64 type;

	if (!target || !read_word(GO_ARGUMENT_2(regs) + 8, &type))
		return 0;
	if (type == target->span_type)
		span_started(target, GO_G(regs), GO_ARGUMENT_3(regs));
	else if (type == target->unsampled_type)
		unsampled_started(target, GO_G(regs), GO_ARGUMENT_3(regs));
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
	struct open_span open = {};
	struct goroutine *child;
	__u64 new_g, m, curg;

	if (!target || !open_window(target, WINDOW_OF_PROBE))
		return 0;
	count_event(EVENT_GO_STATEMENTS);
	__sync_fetch_and_add(&target->go_statements, 1);
	new_g = GO_ARGUMENT_1(regs);
	if (!read_word(GO_G(regs) + target->g_m, &m) || !read_word(m + target->m_curg, &curg)) {
		count_lost(LOSS_G_UNREADABLE);
		return 0;
	}
	if (find_current(target, curg, user_word(curg + target->g_goid), &open) == SPAN_ENDED ||
	    open.address & OPEN_SPAN_HIDES)
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
