/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * What a sampled goroutine's stack leads to: open spans, by pointers to them and to contexts. Which
 * of these words are in use is found out by who reads the record.
 */
#ifndef STACK_SCAN_BPF_H
#define STACK_SCAN_BPF_H

#include "sampled_span.bpf.h"
#include "user_stack.bpf.h"

#define SCAN_WORDS 1024 /* of the stack, from its top; spans.md 6 */
/* Words that may point to a context or span: followed one by one. A power of two less 1. */
#define SCAN_HITS_BITS 7
#define SCAN_HITS      ((1 << SCAN_HITS_BITS) - 1)
#define CONTEXT_LINKS  16 /* from one context to the one that it was made from */
/* Of what may be a span: its start in seconds since 1885, bytes of its name */
#define SECONDS_TO_2020 4260124800ull
#define SECONDS_TO_2120 7415884800ull
#define SPAN_NAME_BELOW 65536

/* One scan on each CPU; only the sampler sees it. */
struct scan {
	__u64 words[SCAN_WORDS];
	__u16 hits[SCAN_HITS + 1];
	__u32 hit_count;
	__u32 found; /* candidates */
	struct span_candidate candidates[RECORD_CANDIDATES_MAX];
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct scan);
} scans SEC(".maps");

/* context.valueCtx; the other contexts, too, begin with the one that they were made from. */
struct value_context {
	__u64 parent_itab, parent;
	__u64 key_type, key;
	__u64 value_type, value;
};

static __always_inline bool is_itab(const struct target_itabs *itabs, __u64 word)
{
	return word - itabs->start < itabs->end - itabs->start;
}

/*
 * 1 for a word that points into the heap, as `g`, which lies there, shows it, and not into the
 * stack itself; else 0. Without branches: the verifier follows each, a thousand times.
 */
static __always_inline __u64 is_hit(__u64 word, __u64 g, __u64 sp, __u64 stack_bytes)
{
	__u64 above = word - sp, below = stack_bytes - 1 - above; /* negative: not in the stack */
	__u64 wrong = (word ^ g) >> TARGET_ARENA_BITS | (word & 7) | (~(above | below) >> 63);

	return (wrong - 1) >> 63;
}

/*
 * Copies the stack from `sp` to its end at `limit` and notes the words that are hits, nearest to
 * the leaf first. Not static, so that the verifier looks at it once for any arguments.
 */
__noinline int find_hits(__u64 sp, __u64 limit, __u64 g)
{
	__u64 bytes = SCAN_WORDS * 8, stack_bytes = limit - sp, hits = 0;
	__u32 zero = 0;
	struct scan *scan = bpf_map_lookup_elem(&scans, &zero);

	if (!scan)
		return 0;
	scan->hit_count = 0;
	if (sp & 7 || limit <= sp)
		return 0;
	if (stack_bytes < bytes)
		bytes = stack_bytes & ~7ull;
	barrier_var(bytes);
	if (bytes > SCAN_WORDS * 8 || bpf_probe_read_user(scan->words, bytes, (void *)sp))
		return 0;
	for (__u32 i = 0; i < SCAN_WORDS; i++) {
		if (i * 8 >= bytes)
			break;
		/* The last place is for all that find none: it does not count. */
		scan->hits[hits & SCAN_HITS] = i;
		hits += is_hit(scan->words[i], g, sp, stack_bytes);
		hits -= hits >> SCAN_HITS_BITS & 1;
		barrier_var(hits);
	}
	scan->hit_count = hits;
	return 0;
}

/*
 * Whether the window holds a recordingSpan: nothing in Go's heap says of what type it is. A start
 * in these decades by both clocks, no end, IDs, a name.
 */
static __always_inline bool looks_like_span(const struct span_window *window)
{
	const struct target_span *at = &window->at;
	__u64 wall = window_word(window, at->start_time), size = window_next_word(window, at->name);
	__u64 seconds = wall << 1 >> 31; /* since 1885; Go: time/time.go */

	return wall >> 63 && seconds > SECONDS_TO_2020 && seconds < SECONDS_TO_2120 &&
	       window_word(window, at->trace_id) && window_word(window, at->name) && size &&
	       size < SPAN_NAME_BELOW && window->bytes[at->trace_flags] < 8;
}

/* The nearest span that a context leads to; `*unsampled`: one that is sampled out. */
static __always_inline __u64 follow_contexts(const struct target_process *target,
					     struct value_context *context, bool *unsampled)
{
	for (int i = 0; i < CONTEXT_LINKS; i++) {
		*unsampled = context->value_type == target->unsampled_type;
		if (context->value_type == target->span_type)
			return context->value;
		if (*unsampled || !is_itab(&target->itabs, context->parent_itab) ||
		    bpf_probe_read_user(context, sizeof(*context), (void *)context->parent))
			return 0;
	}
	return 0;
}

/*
 * A deferred span.End() keeps its code, then the span as an interface: words before the one at
 * hand. The compiler's maps do not tell that such a function on the stack is in use. 0: not so.
 */
static __always_inline __u64 deferred_code(const struct target_process *target, __u64 code,
					   __u64 itab)
{
	return itab && itab == target->itabs.span && in_text(target, code) ? code : 0;
}

/*
 * What a word of the stack leads to: the span it points to, or the nearest one that a context does.
 * A candidate when the span is open, or sampled out: that does not show its end.
 */
__noinline int follow_hit(__u64 value, __u64 slot, __u64 itab, __u64 code)
{
	struct span_window *window = window_of(WINDOW_OF_SAMPLER);
	struct target_process *target = current_target();
	struct span_candidate *candidate;
	struct value_context context;
	__u32 zero = 0, found;
	struct scan *scan = bpf_map_lookup_elem(&scans, &zero);
	bool unsampled = false;
	__u64 span = value;

	if (!target || !window || !scan ||
	    bpf_probe_read_user(&context, sizeof(context), (void *)value))
		return 0;
	/* A recordingSpan begins with zeroes (an interface embedded, a mutex), a context never. */
	if (context.parent_itab)
		span = follow_contexts(target, &context, &unsampled);
	if (!unsampled &&
	    (!span || !read_window(window, span) || !window_word(window, window->at.span_id) ||
	     !window_is_open(window) || (span == value && !looks_like_span(window))))
		return 0;
	found = scan->found;
	if (found >= RECORD_CANDIDATES_MAX)
		return 0;
	candidate = &scan->candidates[found];
	__builtin_memset(candidate, 0, sizeof(*candidate));
	candidate->slot = slot;
	scan->found = found + 1;
	if (unsampled)
		return 0;
	candidate->address = span;
	candidate->direct = span == value;
	candidate->code = candidate->direct ? deferred_code(target, code, itab) : 0;
	__builtin_memcpy(candidate->trace_id, &window->bytes[window->at.trace_id], 16);
	__builtin_memcpy(candidate->span_id, &window->bytes[window->at.span_id], 8);
	if (window->at.parent_id != TARGET_SPAN_NO_FIELD)
		__builtin_memcpy(candidate->parent_id, &window->bytes[window->at.parent_id], 8);
	candidate->start[0] = window_word(window, window->at.start_time);
	candidate->start[1] = window_next_word(window, window->at.start_time);
	candidate->trace_flags = window->bytes[window->at.trace_flags];
	candidate->name_address = window_word(window, window->at.name);
	candidate->name_size = window_next_word(window, window->at.name) > 0xffff
				       ? 0xffff
				       : window_next_word(window, window->at.name);
	return 0;
}

/* All that find_hits noted of the stack at `sp`. Not static, for the verifier's sake. */
__noinline int follow_hits(__u64 sp)
{
	__u32 zero = 0;
	struct scan *scan = bpf_map_lookup_elem(&scans, &zero);

	if (!scan)
		return 0;
	scan->found = 0;
	for (__u32 i = 0; i < SCAN_HITS; i++) {
		__u64 at, before, itab = 0, code = 0;

		if (i >= *(volatile __u32 *)&scan->hit_count)
			break;
		at = scan->hits[i];
		before = at - 2;
		barrier_var(at);
		barrier_var(before);
		if (before < SCAN_WORDS - 2) {
			code = scan->words[before];
			itab = scan->words[before + 1];
		}
		if (at < SCAN_WORDS)
			follow_hit(scan->words[at], sp + at * 8, itab, code);
	}
	return 0;
}

/* Appends what the goroutine's stack leads to. Returns the number of words with that. */
static __always_inline __u32 scan_stack(struct scratch *s, __u32 words, __u64 sp, __u64 limit,
					__u64 g)
{
	__u32 zero = 0;
	struct scan *scan = bpf_map_lookup_elem(&scans, &zero);
	__u64 bytes, place = words;

	if (!scan)
		return words;
	find_hits(sp, limit, g);
	follow_hits(sp);
	bytes = *(volatile __u32 *)&scan->found * sizeof(struct span_candidate);
	barrier_var(bytes);
	barrier_var(place);
	if (bytes > RECORD_CANDIDATES_BYTES || place > RECORD_STACKS_MAX ||
	    bpf_probe_read_kernel(&s->words[place], bytes, scan->candidates))
		return words;
	s->record.candidate_count = scan->found;
	if (bytes)
		count_event(EVENT_SAMPLES_WITH_CANDIDATES);
	return words + bytes / 8;
}

#endif
