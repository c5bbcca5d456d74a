/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * Where else a sampled goroutine's span may be known, when the store has none: on its stack, in its
 * pprof labels, in a map that another tool fills.
 */
#ifndef OTHER_SPANS_BPF_H
#define OTHER_SPANS_BPF_H

#include "sampled_span.bpf.h"
#include "user_stack.bpf.h"

#define SCAN_WORDS 1024 /* of the stack, from its top; spans.md 6 */
/* Words that may point to a context or span: followed one by one. A power of two less 1. */
#define SCAN_HITS_BITS 7
#define SCAN_HITS      ((1 << SCAN_HITS_BITS) - 1)
#define CONTEXT_LINKS  16 /* from one context to the one that it was made from */
#define LABELS_MAX     8  /* a map of more has another shape, in a slice they come later */
/* Of what may be a span: its start in seconds since 1885, bytes of its name */
#define SECONDS_TO_2020 4260124800ull
#define SECONDS_TO_2120 7415884800ull
#define SPAN_NAME_BELOW 65536
#define ARENA_BITS	36 /* the heap lies together: 64 GiB are taken for it */

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
	__u64 wrong = (word ^ g) >> ARENA_BITS | (word & 7) | (~(above | below) >> 63);

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
 * hand. The compiler's maps do not tell that such a function on the stack is in use.
 */
static __always_inline bool is_in_closure(const struct target_process *target, __u64 code,
					  __u64 itab)
{
	return itab && itab == target->itabs.span &&
	       code - target->text_start < target->text_end - target->text_start;
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
	candidate->closure = candidate->direct && is_in_closure(target, code, itab);
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

/* A label as Go's runtime/pprof keeps it: two strings. */
struct label {
	__u64 key, key_size;
	__u64 value, value_size;
};

/* Keys by their first eight bytes, as a number. */
#define KEY(a, b, c, d, e, f, g, h)                                                                \
	((__u64)(a) | (__u64)(b) << 8 | (__u64)(c) << 16 | (__u64)(d) << 24 | (__u64)(e) << 32 |   \
	 (__u64)(f) << 40 | (__u64)(g) << 48 | (__u64)(h) << 56)
#define KEY_TRACE_ID  KEY('t', 'r', 'a', 'c', 'e', '_', 'i', 'd')
#define KEY_SPAN_ID   KEY('s', 'p', 'a', 'n', '_', 'i', 'd', 0)
#define KEY_SPAN_NAME KEY('s', 'p', 'a', 'n', '_', 'n', 'a', 'm')
#define KEY_SPAN_DD   KEY('s', 'p', 'a', 'n', ' ', 'i', 'd', 0)

/* The only bucket of a small map[string]string of Go's runtime up to 1.23. */
struct label_bucket {
	__u8 top_hash[8]; /* below 5: the slot is empty */
	__u64 keys[8][2];
	__u64 values[8][2];
};

struct label_map {
	__u64 count;
	__u8 flags, bucket_bits;
	__u8 unused[6];
	__u64 buckets;
};

/* The labels of one goroutine under way, on each CPU; only the sampler sees them. */
struct labels {
	struct label list[LABELS_MAX];
	struct label_bucket bucket;
	struct label_values values;
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct labels);
} labels_read SEC(".maps");

static __always_inline bool read_label_map(struct labels *labels, __u64 address)
{
	struct label_map map;
	__u64 at;

	if (!read_word(address, &at) || !at || bpf_probe_read_user(&map, sizeof(map), (void *)at) ||
	    map.bucket_bits ||
	    bpf_probe_read_user(&labels->bucket, sizeof(labels->bucket), (void *)map.buckets))
		return false;
	for (int i = 0; i < LABELS_MAX; i++) {
		if (labels->bucket.top_hash[i] < 5)
			continue;
		labels->list[i].key = labels->bucket.keys[i][0];
		labels->list[i].key_size = labels->bucket.keys[i][1];
		labels->list[i].value = labels->bucket.values[i][0];
		labels->list[i].value_size = labels->bucket.values[i][1];
	}
	return true;
}

static __always_inline bool read_label_slice(struct labels *labels, __u64 address)
{
	__u64 slice[2], bytes;

	if (bpf_probe_read_user(slice, sizeof(slice), (void *)address))
		return false;
	bytes = slice[1] < LABELS_MAX ? slice[1] * sizeof(struct label) : sizeof(labels->list);
	barrier_var(bytes);
	if (bytes > sizeof(labels->list))
		return false;
	return !bpf_probe_read_user(labels->list, bytes, (void *)slice[0]);
}

/* Takes the values of the labels at `address`; returns 1 when there is a span's ID among them. */
__noinline int read_labels(__u64 address)
{
	struct target_process *target = current_target();
	__u32 zero = 0;
	struct labels *labels = bpf_map_lookup_elem(&labels_read, &zero);
	struct label_values *v;

	if (!labels || !target)
		return 0;
	v = &labels->values;
	__builtin_memset(labels->list, 0, sizeof(labels->list));
	__builtin_memset(v, 0, sizeof(*v));
	if (!(target->flags & TARGET_LABELS_MAP ? read_label_map(labels, address)
						: read_label_slice(labels, address)))
		return 0;
	for (int i = 0; i < LABELS_MAX; i++) {
		struct label l = labels->list[i];
		__u64 key = 0, key_size = l.key_size;

		if (key_size < 7 || key_size > 9 ||
		    bpf_probe_read_user(&key, key_size == 7 ? 7 : 8, (void *)l.key))
			continue;
		if (key == KEY_TRACE_ID && key_size == 8)
			v->trace_id_size =
				read_text(v->trace_id, sizeof(v->trace_id), l.value, l.value_size);
		if (key == KEY_SPAN_NAME && key_size == 9)
			v->span_name_size = read_text(v->span_name, sizeof(v->span_name), l.value,
						      l.value_size);
		if (key != KEY_SPAN_ID && key != KEY_SPAN_DD)
			continue;
		v->decimal = key == KEY_SPAN_DD;
		v->span_id_size = read_text(v->span_id, sizeof(v->span_id), l.value, l.value_size);
	}
	return v->span_id_size > 0;
}

static __always_inline bool take_labels(const struct target_process *target, __u64 g,
					struct sample_record *record)
{
	__u32 zero = 0;
	struct labels *labels = bpf_map_lookup_elem(&labels_read, &zero);
	__u64 address = target->g_labels ? user_word(g + target->g_labels) : 0;

	if (!address || !labels || !read_labels(address))
		return false;
	__builtin_memcpy(record->span.name, &labels->values, sizeof(labels->values));
	record->span.name_copied = sizeof(labels->values);
	record->span.source = SPAN_LABELS;
	record->flags |= SAMPLE_SPAN;
	count_event(EVENT_SAMPLES_LABELS);
	return true;
}

/* As OpenTelemetry's eBPF instrumentation pins it: the span that a thread works for. */
struct thread_context {
	__u8 trace_id[16];
	__u8 span_id[8];
};

/* Written by that tool when it runs, else empty; read by the sampler. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, __u64);
	__type(value, struct thread_context);
} traces_ctx_v1 SEC(".maps");

static __always_inline bool take_context_map(struct sample_record *record)
{
	__u64 key = bpf_get_current_pid_tgid();
	struct thread_context *context = bpf_map_lookup_elem(&traces_ctx_v1, &key);

	if (!context)
		return false;
	__builtin_memcpy(record->span.trace_id, context->trace_id, sizeof(context->trace_id));
	__builtin_memcpy(record->span.span_id, context->span_id, sizeof(context->span_id));
	record->span.trace_flags = 1;
	record->span.source = SPAN_CONTEXT_MAP;
	record->flags |= SAMPLE_SPAN;
	count_event(EVENT_SAMPLES_CONTEXT_MAP);
	return true;
}

/*
 * For a goroutine of which the store knows nothing; `limit` is the end of its stack. Returns the
 * number of words behind the record.
 */
static __always_inline __u32 look_further(const struct target_process *target, __u64 limit,
					  struct scratch *s, __u32 words)
{
	struct sample_record *record = &s->record;
	__u64 sp = record->flags & SAMPLE_SYSTEM_STACK ? record->curg_sp : record->sp;

	if (target->flags & TARGET_SPANS && target->itabs.end)
		words = scan_stack(s, words, sp, limit, record->g);
	if (!take_labels(target, record->g, record))
		take_context_map(record);
	return words;
}

#endif
