/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* Agent → kernel: what the BPF programs know about each profiled process. */
#ifndef SPANPROF_TARGET_H
#define SPANPROF_TARGET_H

#include <linux/types.h>

#define TARGET_TOP_FRAMES 8

/* What a process is, in target_process.flags. */
enum target_flags {
	TARGET_GO = 1 << 0,		 /* offsets below are valid: read the goroutine */
	TARGET_SPANS = 1 << 1,		 /* links the OpenTelemetry SDK: look up the span */
	TARGET_PENDING = 1 << 2,	 /* executable not read yet: registers and stack only */
	TARGET_CGO = 1 << 3,		 /* runtime.iscgo: how arm64 finds g */
	TARGET_START_ON_BRANCH = 1 << 4, /* start probe sits on a branch: see span_track */
	TARGET_SPANS_SEEN = 1 << 5,	 /* set by the kernel side: a span was announced */
};

/* [start, end) of one function, absolute in the process. */
struct target_range {
	__u64 start;
	__u64 end;
};

/*
 * One profiled process, value of the `processes` map, key tgid. Offsets are bytes from the start
 * of the Go structure; addresses are absolute in the process (load bias added).
 */
struct target_process {
	__u32 generation; /* unique per process image, never 0 */
	__u32 flags;
	__s32 tls_offset; /* of g, from the thread pointer */
	__u16 g_m;
	__u16 g_goid;
	__u16 g_stack_hi;
	__u16 g_sched_sp;
	__u16 g_sched_pc;
	__u16 g_sched_bp;
	__u16 g_syscall_sp;
	__u16 g_syscall_pc;
	__u16 m_curg;
	__u16 span_context;	/* recordingSpan.spanContext: trace ID, span ID, flags */
	__u16 span_end_time;	/* recordingSpan.endTime: zero while the span is open */
	__u16 span_name;	/* recordingSpan.name: pointer, length */
	__u16 context_trace_id; /* within SpanContext */
	__u16 context_span_id;
	__u16 context_flags;
	__u16 reserved[3];
	__u64 span_type;  /* rtype of *recordingSpan, for the probe that sees an interface */
	__u64 text_start; /* Go text: [start, end) */
	__u64 text_end;
	struct target_range
		signal_entries[2];	   /* sigtramp, cgoSigtramp: below lies a signal frame */
	struct target_range signal_return; /* Go's own restorer */
	struct target_range top_frames[TARGET_TOP_FRAMES]; /* a whole stack ends in one of these */
};

/* An executable file, key of the `images` map. */
struct target_image {
	__u64 inode;
	__u32 device; /* major << 20 | minor, as the kernel has it */
	__u32 zero;
};

/* Tunables, set before the programs are loaded (read-only data of the BPF object). */
struct target_tunables {
	__u32 kernel_stacks; /* 1: record them */
	__u32 every_process; /* 1: host-wide: announce every exec, not only descendants */
};

/* Why something was lost, one counter each: X(identifier, metric label, sentence). */
#define SPANPROF_LOSS_REASONS(X)                                                                   \
	X(RING_FULL, "ring_full", "sample dropped: the agent read the ring buffer too slowly")     \
	X(PROCESS_UNSEEN, "process_unseen", "exec or exit not told: the ring buffer was full")     \
	X(PROCESSES_FULL, "processes_full", "process not followed: too many run")                  \
	X(G_UNREADABLE, "g_unreadable", "current goroutine could not be read")                     \
	X(STACK_UNREADABLE, "stack_unreadable", "top of the user stack could not be read")         \
	X(REGS_UNREADABLE, "regs_unreadable", "saved user registers could not be read")            \
	X(SPAN_UNREADABLE, "span_unreadable", "span memory could not be read at the sample")       \
	X(SPAN_START_UNREADABLE, "span_start_unreadable", "started span could not be read")        \
	X(SPAN_DEPTH, "span_depth", "oldest open span forgotten: more than 16 on one goroutine")   \
	X(GOROUTINES_FULL, "goroutines_full", "span not followed: store of goroutines is full")    \
	X(CHAIN_DEPTH, "chain_depth", "stack deeper than the frame-pointer walk goes")

enum loss_reason {
#define LOSS_ENUM(id, label, sentence) LOSS_##id,
	SPANPROF_LOSS_REASONS(LOSS_ENUM)
#undef LOSS_ENUM
		LOSS_REASON_COUNT,
};

/* Events counted that are no losses: X(identifier, metric label). */
#define SPANPROF_EVENTS(X)                                                                         \
	X(SAMPLES, "samples")                                                                      \
	X(SAMPLES_IN_SPAN, "samples_in_span")                                                      \
	X(SAMPLES_INHERITED, "samples_inherited")                                                  \
	X(SAMPLES_DEEP, "samples_deep_stack")                                                      \
	X(SPANS_STARTED, "spans_started")                                                          \
	X(GO_STATEMENTS, "go_statements")                                                          \
	X(GOROUTINES_STORED, "goroutines_stored")                                                  \
	X(TICKS, "clock_ticks")

enum event_count {
#define EVENT_ENUM(id, label) EVENT_##id,
	SPANPROF_EVENTS(EVENT_ENUM)
#undef EVENT_ENUM
		EVENT_COUNT,
};

/* Value of the one-element per-CPU `counters` map. */
struct target_counters {
	__u64 lost[LOSS_REASON_COUNT];
	__u64 events[EVENT_COUNT];
};

_Static_assert(sizeof(struct target_process) == 248, "layout shared with BPF");

#endif
