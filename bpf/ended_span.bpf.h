/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* Harvest: what the SDK's memory still says of a span that has ended goes to the agent. */
#ifndef ENDED_SPAN_BPF_H
#define ENDED_SPAN_BPF_H

#include "go_runtime.bpf.h"

/* One record under construction on each CPU; only the probes see it. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct span_record);
} harvested SEC(".maps");

static __always_inline void copy_times(__u64 to[2], const struct span_window *window, __u8 place)
{
	to[0] = window_word(window, place);
	to[1] = window_next_word(window, place);
}

static __always_inline void fill_ended(const struct span_window *window, struct span_record *record)
{
	const struct target_span *at = &window->at;
	__u64 size = window_next_word(window, at->name);

	record->header.type = RECORD_ENDED_SPAN;
	record->header.size_bytes = sizeof(*record);
	record->time_ns = bpf_ktime_get_ns();
	record->pid = bpf_get_current_pid_tgid() >> 32;
	record->generation = window->generation;
	record->address = window->address;
	__builtin_memcpy(record->trace_id, &window->bytes[at->trace_id], 16);
	__builtin_memcpy(record->span_id, &window->bytes[at->span_id], 8);
	__builtin_memset(record->parent_id, 0, 8);
	if (at->parent_id != TARGET_SPAN_NO_FIELD)
		__builtin_memcpy(record->parent_id, &window->bytes[at->parent_id], 8);
	copy_times(record->start, window, at->start_time);
	copy_times(record->end, window, at->end_time);
	record->trace_flags = window->bytes[at->trace_flags];
	record->status = at->status == TARGET_SPAN_NO_FIELD ? 0 : window->bytes[at->status];
	record->kind = at->kind == TARGET_SPAN_NO_FIELD ? 0 : window->bytes[at->kind];
	record->name_address = window_word(window, at->name);
	record->name_size = size > 0xffff ? 0xffff : size;
	record->name_copied =
		read_text(record->name, RECORD_SPAN_NAME_MAX, record->name_address, size);
}

/*
 * A stored span that is over, as look_at_span left it in the probe's window, is about to be
 * forgotten. The agent is not woken: that bounds what it takes in a second. Not static, for the
 * verifier's sake.
 */
__noinline int harvest(__u32 state, __u64 address)
{
	struct span_window *window = window_of(WINDOW_OF_PROBE);
	struct span_record *record;
	__u32 zero = 0;

	record = bpf_map_lookup_elem(&harvested, &zero);
	if (!record || !window || address & OPEN_SPAN_HIDES)
		return 0;
	/* Its memory is another's: a sweep of the agent had been first, or nobody. */
	if (state == SPAN_REPLACED)
		count_event(EVENT_SPANS_REPLACED);
	if (state != SPAN_ENDED)
		return 0;
	fill_ended(window, record);
	if (bpf_ringbuf_output(&ended_spans, record, sizeof(*record), BPF_RB_NO_WAKEUP))
		count_lost(LOSS_SPANS_ENDED_FULL);
	else
		count_event(EVENT_SPANS_ENDED);
	return 0;
}

#endif
