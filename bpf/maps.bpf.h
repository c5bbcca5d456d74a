/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* The maps that programs share, each with who writes and who reads it. */
#ifndef MAPS_BPF_H
#define MAPS_BPF_H

#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
#include <stdbool.h>
#include <spanprof/record.h>
#include <spanprof/target.h>

#define GOROUTINE_SPANS 16 /* real servers nest 9 deep */

/* An entry of spans that a census found; 0: of those that the probes saw start. */
#define GOROUTINE_OLDER 1

struct goroutine_key {
	__u32 generation;
	__u32 older;
	__u64 g; /* address of runtime.g: the runtime reuses them, so their number is bounded */
};

/*
 * In an address: this is no span but a span of another trace that is sampled out, started while
 * the span at this address was open. It hides that one as long as that one is open.
 */
#define OPEN_SPAN_HIDES (1ull << 63)

struct open_span {
	__u64 address; /* of the recordingSpan */
	__u64 span_id; /* as in memory; tells when the memory was given to another span */
};

struct goroutine {
	__u64 goid;	 /* another one: the entry belongs to a goroutine that is gone */
	__u32 depth;	 /* spans in use, oldest first; some may have ended */
	__u32 inherited; /* 1: spans[0] is the creator's, captured at the `go` statement */
	__u64 kept;	 /* of a clean-up under way: in memory, to be any number to the verifier */
	struct open_span spans[GOROUTINE_SPANS];
};

/* Written by the agent and by exec/exit; read by every program as its filter. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 4096);
	__type(key, __u32);
	__type(value, struct target_process);
} processes SEC(".maps") __attribute__((weak));

/* Written by the agent (the COMMAND) and by fork; read by exec, fork and exit. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 4096);
	__type(key, __u32);
	__type(value, __u8);
} followed SEC(".maps") __attribute__((weak));

/* Written by the span and `go` probes and by a census; read by the sampler; swept by the agent. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 32768);
	__type(key, struct goroutine_key);
	__type(value, struct goroutine);
} goroutines SEC(".maps") __attribute__((weak));

/* Written by all programs; read by the agent. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct target_counters);
} counters SEC(".maps") __attribute__((weak));

/* Written by the sampler, exec and exit; read by the agent. */
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 20);
} records SEC(".maps") __attribute__((weak));

/* Written by the span probes; read by the agent. Its size is what the agent takes at a time. */
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 18);
} ended_spans SEC(".maps") __attribute__((weak));

extern const volatile struct target_tunables tunables;

static __always_inline void count_lost(enum loss_reason reason)
{
	__u32 zero = 0;
	struct target_counters *c = bpf_map_lookup_elem(&counters, &zero);

	if (c)
		__sync_fetch_and_add(&c->lost[reason], 1);
}

static __always_inline void count_event(enum event_count event)
{
	__u32 zero = 0;
	struct target_counters *c = bpf_map_lookup_elem(&counters, &zero);

	if (c)
		__sync_fetch_and_add(&c->events[event], 1);
}

/* Tells the agent of a process. Unlike samples this wakes it: it has something to do. */
static __always_inline bool announce(enum record_type type, __u32 pid, __u32 parent_pid,
				     __u32 generation, __u32 image_generation)
{
	struct process_record record = {
		.header = {.type = type, .size_bytes = sizeof(record)},
		.time_ns = bpf_ktime_get_ns(),
		.pid = pid,
		.parent_pid = parent_pid,
		.generation = generation,
		.image_generation = image_generation,
	};

	bpf_get_current_comm(record.comm, sizeof(record.comm));
	if (!bpf_ringbuf_output(&records, &record, sizeof(record), BPF_RB_FORCE_WAKEUP))
		return true;
	count_lost(LOSS_PROCESS_UNSEEN);
	return false;
}

static __always_inline struct target_process *current_target(void)
{
	__u32 tgid = bpf_get_current_pid_tgid() >> 32;

	return bpf_map_lookup_elem(&processes, &tgid);
}

#endif
