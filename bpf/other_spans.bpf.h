/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * Where else a sampled goroutine's span may be known, when the store has none: on its stack, in its
 * pprof labels, in a map that another tool fills.
 */
#ifndef OTHER_SPANS_BPF_H
#define OTHER_SPANS_BPF_H

#include "stack_scan.bpf.h"

#define LABELS_MAX 8 /* a map of more has another shape, in a slice they come later */

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
 * For a goroutine of which the store does not know all; `limit` is the end of its stack. Returns
 * the number of words behind the record.
 */
static __always_inline __u32 look_further(const struct target_process *target, __u64 limit,
					  struct scratch *s, __u32 words)
{
	struct sample_record *record = &s->record;
	__u64 sp = record->flags & SAMPLE_SYSTEM_STACK ? record->curg_sp : record->sp;

	if (target->flags & TARGET_SPANS && target->itabs.end)
		words = scan_stack(s, words, sp, limit, record->g);
	if (!(record->flags & (SAMPLE_SPAN | SAMPLE_UNSAMPLED | SAMPLE_SPAN_UNREADABLE)) &&
	    !take_labels(target, record->g, record))
		take_context_map(record);
	return words;
}

#endif
