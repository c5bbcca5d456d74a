/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* The span that a sampled goroutine works for, out of the store that the probes keep. */
#ifndef SAMPLED_SPAN_BPF_H
#define SAMPLED_SPAN_BPF_H

#include "go_runtime.bpf.h"

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
						      struct sample_span *span)
{
	__s32 depth = goroutine->depth;

	for (__s32 i = GOROUTINE_SPANS - 1; i >= 0; i--) {
		enum span_state state;

		if (i >= depth)
			continue;
		state = span_look(target, &goroutine->spans[i]);
		if (state == SPAN_ENDED)
			continue;
		span->address = goroutine->spans[i].address;
		__builtin_memcpy(span->span_id, &goroutine->spans[i].span_id, 8);
		span->level = i;
		return state;
	}
	return SPAN_ENDED;
}

static __always_inline bool read_span_context(const struct target_process *target,
					      struct sample_span *span)
{
	__u64 at = span->address + target->span_context;

	return !bpf_probe_read_user(span->trace_id, sizeof(span->trace_id),
				    (void *)(at + target->context_trace_id)) &&
	       !bpf_probe_read_user(&span->trace_flags, sizeof(span->trace_flags),
				    (void *)(at + target->context_flags));
}

static __always_inline void look_up_span(const struct target_process *target, __u64 g,
					 struct sample_record *record)
{
	struct goroutine *goroutine = goroutine_find(target, g, record->goid);
	struct sample_span *span = &record->span;
	enum span_state state;

	if (!goroutine)
		return;
	state = find_open_span(target, goroutine, span);
	if (state == SPAN_ENDED)
		return;
	if (*(volatile __u8 *)&span->level == 0 && goroutine->inherited)
		record->flags |= SAMPLE_SPAN_INHERITED;
	if (state == SPAN_UNREADABLE || !read_span_context(target, span)) {
		record->flags |= SAMPLE_SPAN_UNREADABLE;
		count_lost(LOSS_SPAN_UNREADABLE);
		return;
	}
	read_span_name(target, span);
	record->flags |= SAMPLE_SPAN;
	count_event(record->flags & SAMPLE_SPAN_INHERITED ? EVENT_SAMPLES_INHERITED
							  : EVENT_SAMPLES_IN_SPAN);
}

#endif
