/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* The span that a sampled goroutine works for, out of the store that probes and census fill. */
#ifndef SAMPLED_SPAN_BPF_H
#define SAMPLED_SPAN_BPF_H

#include "go_runtime.bpf.h"

/* What the window says of an open span. */
static __always_inline void fill_span(const struct span_window *window, enum span_source source,
				      struct sample_span *span)
{
	const struct target_span *at = &window->at;
	__u64 size = window_next_word(window, at->name);

	span->address = window->address;
	span->source = source;
	__builtin_memcpy(span->trace_id, &window->bytes[at->trace_id], sizeof(span->trace_id));
	__builtin_memcpy(span->span_id, &window->bytes[at->span_id], sizeof(span->span_id));
	span->trace_flags = window->bytes[at->trace_flags];
	span->name_address = window_word(window, at->name);
	span->name_size = size > 0xffff ? 0xffff : size;
	span->name_copied = read_text(span->name, RECORD_SPAN_NAME_MAX, span->name_address, size);
}

/* True when the store knows what the goroutine works for, be it nothing that has a tag. */
static __always_inline bool take_stored_span(const struct target_process *target, __u32 older,
					     __u64 g, struct span_window *window,
					     struct sample_record *record)
{
	struct goroutine *goroutine = goroutine_find(target, older, g, record->goid);
	enum span_source source = older ? SPAN_OLDER : SPAN_OWN;
	struct open_span open = {};
	int state;
	__u8 level = 0;

	if (!goroutine)
		return false;
	state = find_open_span(goroutine, WINDOW_OF_SAMPLER, &open, &level);
	if (state == SPAN_ENDED)
		return false;
	if (open.address & OPEN_SPAN_HIDES) {
		record->flags |= SAMPLE_UNSAMPLED;
		count_event(EVENT_SAMPLES_UNSAMPLED);
		return true;
	}
	record->span.level = level;
	if (!*(volatile __u8 *)&record->span.level && goroutine->inherited)
		source = SPAN_INHERITED;
	if (state == SPAN_OPEN) {
		fill_span(window, source, &record->span);
		record->flags |= SAMPLE_SPAN;
		count_event(EVENT_SAMPLES_IN_SPAN + source);
		return true;
	}
	record->flags |= SAMPLE_SPAN_UNREADABLE;
	record->span.address = open.address;
	record->span.source = source;
	__builtin_memcpy(record->span.span_id, &open.span_id, sizeof(open.span_id));
	count_lost(LOSS_SPAN_UNREADABLE);
	return true;
}

/*
 * True when it is settled what the goroutine works for. An older span alone does not settle it
 * while no span was seen to start: the probe may be misplaced, and a younger one stand on the
 * stack.
 */
static __always_inline bool look_up_span(const struct target_process *target, __u64 g,
					 struct sample_record *record)
{
	struct span_window *window = open_window(target, WINDOW_OF_SAMPLER);

	if (!window)
		return true;
	if (take_stored_span(target, 0, g, window, record))
		return true;
	return take_stored_span(target, GOROUTINE_OLDER, g, window, record) &&
	       target->flags & TARGET_SPANS_SEEN;
}

#endif
