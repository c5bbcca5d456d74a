/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* Agent → kernel: what the BPF programs know about each profiled process. */
#ifndef SPANPROF_TARGET_H
#define SPANPROF_TARGET_H

#include <linux/types.h>

#define TARGET_TOP_FRAMES    8
#define TARGET_ARENA_BITS    36	  /* Go's heap lies together: 64 GiB are taken for it */
#define TARGET_SPAN_WINDOW   256  /* bytes of a span's memory that are read at once */
#define TARGET_SPAN_NO_FIELD 0xff /* place of a field that this SDK version does not have */

/* What a process is, in target_process.flags. */
enum target_flags {
	TARGET_GO = 1 << 0,		   /* offsets below are valid: read the goroutine */
	TARGET_SPANS = 1 << 1,		   /* links the OpenTelemetry SDK: look up the span */
	TARGET_PENDING = 1 << 2,	   /* executable not read yet: registers and stack only */
	TARGET_CGO = 1 << 3,		   /* runtime.iscgo: how arm64 finds g */
	TARGET_START_ON_BRANCH = 1 << 4,   /* start probe sits on a branch: see span_track */
	TARGET_SPANS_SEEN = 1 << 5,	   /* set by the kernel side: a span was announced */
	TARGET_LABELS_MAP = 1 << 6,	   /* g.labels is a map, as up to Go 1.23; else a slice */
	TARGET_FRAMELESS_CALLERS = 1 << 7, /* chains have gaps: send RECORD_ABOVE */
};

/* [start, end) of one function, absolute in the process. */
struct target_range {
	__u64 start;
	__u64 end;
};

/*
 * Where fields lie within the TARGET_SPAN_WINDOW bytes of a recordingSpan that are read at once, in
 * bytes; parent_id, status and kind may be TARGET_SPAN_NO_FIELD.
 */
struct target_span {
	__u16 window; /* where these bytes begin in recordingSpan */
	__u8 trace_id;
	__u8 span_id;
	__u8 trace_flags;
	__u8 parent_id;
	__u8 name;	 /* string: pointer, length */
	__u8 start_time; /* time.Time: wall, ext */
	__u8 end_time;	 /* zero while the span is open */
	__u8 status;	 /* 32 bits */
	__u8 kind;
	__u8 unsampled_trace_id; /* in nonRecordingSpan, not in a window */
};

/* Interface tables by which contexts and spans show on a stack; end 0: not known. */
struct target_itabs {
	__u64 start, end; /* those of package context's own contexts lie here */
	__u64 span;	  /* of *recordingSpan as a trace.Span; 0: not known */
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
	__u16 g_labels; /* 0: not looked at */
	__u16 m_curg;
	struct target_span span;
	__u16 m_vdso_sp;      /* SP of who calls the vdso, then its pc; 0: unknown */
	__u16 g_syscall_bp;   /* 0: unknown; then that of sched is as good, but for calls of C */
	__u64 span_type;      /* rtype of *recordingSpan: tells one in an `any` */
	__u64 unsampled_type; /* of nonRecordingSpan */
	__u64 type_mask;      /* of the bits of both that are known: a PIE not yet running has 12 */
	struct target_itabs itabs;
	__u64 text_start; /* Go text: [start, end) */
	__u64 text_end;
	struct target_range
		signal_entries[2];	   /* sigtramp, cgoSigtramp: below lies a signal frame */
	struct target_range signal_return; /* Go's own restorer */
	struct target_range top_frames[TARGET_TOP_FRAMES]; /* a whole stack ends in one of these */
	/* Counted by the kernel side. */
	__u64 spans_started;
	__u64 spans_unsampled; /* started, but sampled out */
	__u64 go_statements;
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
	X(SPANS_ENDED_FULL, "spans_ended_full", "ended span not read: more than the agent takes")  \
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
	X(SAMPLES_OLDER, "samples_older_span")                                                     \
	X(SAMPLES_WITH_CANDIDATES, "samples_with_spans_on_stack")                                  \
	X(SAMPLES_LABELS, "samples_pprof_labels")                                                  \
	X(SAMPLES_CONTEXT_MAP, "samples_context_map")                                              \
	X(SAMPLES_UNSAMPLED, "samples_of_unsampled_spans")                                         \
	X(SAMPLES_DEEP, "samples_deep_stack")                                                      \
	X(SPANS_STARTED, "spans_started")                                                          \
	X(SPANS_UNSAMPLED, "spans_unsampled")                                                      \
	X(SPANS_ENDED, "spans_ended")                                                              \
	X(SPANS_REPLACED, "spans_replaced")                                                        \
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

_Static_assert(sizeof(struct target_process) == 312, "layout shared with BPF");

#endif
