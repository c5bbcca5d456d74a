/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* Kernel → agent: the records of the ring buffer. */
#ifndef SPANPROF_RECORD_H
#define SPANPROF_RECORD_H

#include <linux/types.h>

#define RECORD_CHAIN_MAX     512 /* frames of the walk along frame pointers */
#define RECORD_ROOT_MAX	     128 /* outermost frames of one that is longer */
#define RECORD_ABOVE_MAX     2	/* words above a return address that may be return addresses, too */
#define RECORD_KERNEL_MAX    64 /* kernel frames */
#define RECORD_STACK_SHORT   64 /* words of user stack always copied */
#define RECORD_STACK_DEEP    512 /* words copied when the chain fails its validity test */
#define RECORD_SPAN_NAME_MAX 96	 /* bytes of a span's name */
#define RECORD_COMM_MAX	     16

enum record_type {
	RECORD_SAMPLE = 1,
	RECORD_EXEC = 2,       /* struct process_record */
	RECORD_EXIT = 3,       /* struct process_record */
	RECORD_FIRST_SPAN = 4, /* struct process_record: spans start in this process */
	RECORD_ENDED_SPAN = 5, /* struct span_record */
};

/*
 * Set in a word of a chain: it is not the next frame's but lay right above the return address
 * before it, which is where the next return address is if that function has no frame.
 */
#define RECORD_ABOVE (1ull << 63)

struct record_header {
	__u32 type;
	__u32 size_bytes; /* of the whole record */
};

enum sample_flags {
	SAMPLE_IN_KERNEL = 1 << 0,    /* pc, sp, fp are the saved user registers */
	SAMPLE_SYSTEM_STACK = 1 << 1, /* g0, signal stack or C: curg_* lead to the goroutine */
	SAMPLE_CURG_SYSCALL = 1 << 2, /* curg_* come from g.syscallpc/sp, not from g.sched */
	SAMPLE_DEEP = 1 << 3,	      /* the chain failed its validity test */
	SAMPLE_CHAIN_CUT = 1 << 4, /* the walk is longer than the record: its middle is missing, or
				      its root side */
	SAMPLE_SPAN = 1 << 5,	   /* span is valid and was open */
	SAMPLE_UNSAMPLED = 1 << 6, /* works for a span that is sampled out: no tag */
	SAMPLE_SPAN_UNREADABLE = 1
				 << 7, /* span known, but its memory could not be read: unsettled */
	SAMPLE_PENDING = 1 << 8,       /* executable not read yet: no goroutine, no span */
	SAMPLE_SIGNAL = 1 << 10,       /* in a signal handler: curg_* are what it interrupted */
	SAMPLE_NO_REGISTERS = 1 << 9,  /* user registers unknown: pc, sp, fp are 0 */
	SAMPLE_WAITING = 1 << 11, /* the goroutine does not run: curg_* are all that there is */
};

/* How a sample came by its span, best first. */
enum span_source {
	SPAN_OWN = 0,	      /* the goroutine started it */
	SPAN_INHERITED = 1,   /* its creator's at the `go` statement */
	SPAN_OLDER = 2,	      /* found on its stack when spanprof attached */
	SPAN_ON_STACK = 3,    /* found on its stack at the sample */
	SPAN_LABELS = 4,      /* pprof labels: name holds struct label_values, all else is 0 */
	SPAN_CONTEXT_MAP = 5, /* another tool's traces_ctx_v1 map: IDs only */
	SPAN_SOURCE_COUNT,
};

/* The span a sample's goroutine was working for, as it stood in the SDK's memory. */
struct sample_span {
	__u64 address; /* of the recordingSpan, a key for the same span's later samples */
	__u8 trace_id[16];
	__u8 span_id[8];
	__u64 name_address;
	__u32 name_size;  /* bytes of the whole name */
	__u8 name_copied; /* bytes of it in name; 0: unreadable from BPF */
	__u8 trace_flags; /* W3C: bit 0 sampled */
	__u8 level;	  /* place among the goroutine's known spans, 0 outermost */
	__u8 source;	  /* enum span_source */
	char name[RECORD_SPAN_NAME_MAX];
};

/*
 * An open span that a word of the goroutine's stack leads to. Whether that word is in use is for
 * the reader of the record to find out.
 */
struct span_candidate {
	__u64 slot;    /* address of the word: it points to a context or a span */
	__u64 address; /* of the recordingSpan; 0: a span that is sampled out, all else is 0, too */
	__u8 trace_id[16];
	__u8 span_id[8];
	__u8 parent_id[8]; /* 0: a root, or not known */
	__u64 start[2];	   /* time.Time: wall, ext */
	__u64 name_address;
	__u32 name_size;
	__u8 trace_flags;
	__u8 direct; /* the word points to the span itself, not to a context */
	__u8 reserved[2];
	/* Of text, in front of the span as an interface, as a deferred call keeps it; 0 none. */
	__u64 code;
};

/* pprof labels that speak of spans, as text without an end mark; sizes 0: none. */
struct label_values {
	__u8 trace_id_size, span_id_size, span_name_size;
	__u8 decimal; /* dd-trace-go's keys: IDs are decimal numbers */
	char trace_id[32];
	char span_id[20];
	char span_name[40];
};

/*
 * One CPU sample. words[] holds, one behind the other: chain_count return addresses along frame
 * pointers from fp, RECORD_ABOVE among them; curg_count of the same from curg_fp; root_count of the
 * outermost of the one of these that has RECORD_CHAIN_MAX; kernel_count kernel addresses, leaf
 * first; stack_count words of user stack from sp upward; curg_stack_count words of the goroutine's
 * stack from curg_sp upward; candidate_count structures span_candidate, nearest to the leaf first.
 */
struct sample_record {
	struct record_header header;
	__u64 time_ns; /* CLOCK_MONOTONIC */
	__u32 pid;     /* tgid and tid in the initial namespace */
	__u32 tid;
	__u32 generation; /* of struct target_process */
	__u32 flags;
	__u64 goid; /* 0: none */
	__u64 g;    /* address of its runtime.g */
	__u64 pc;
	__u64 sp;
	__u64 fp;
	__u64 lr; /* arm64 only */
	__u64 curg_pc;
	__u64 curg_sp;
	__u64 curg_fp;
	__u64 curg_lr; /* arm64 only: as a function without a frame left it; 0: none */
	__u16 chain_count;
	__u16 curg_count;
	__u16 kernel_count;
	__u16 stack_count;
	__u16 curg_stack_count;
	__u16 candidate_count;
	__u16 root_count;
	__u16 root_first; /* the innermost of them; behind the last one the first follows */
	struct sample_span span;
	__u64 words[];
};

/* Words of stacks behind a record; the candidates follow them. */
static inline __u64 sample_stack_words(const struct sample_record *sample)
{
	return (__u64)sample->chain_count + sample->curg_count + sample->root_count +
	       sample->kernel_count + sample->stack_count + sample->curg_stack_count;
}

#define RECORD_CANDIDATES_MAX	32
#define RECORD_CANDIDATES_BYTES (RECORD_CANDIDATES_MAX * sizeof(struct span_candidate))

#define RECORD_STACKS_MAX                                                                          \
	(2 * RECORD_CHAIN_MAX + RECORD_ROOT_MAX + RECORD_KERNEL_MAX + 2 * RECORD_STACK_DEEP)
#define RECORD_WORDS_MAX (RECORD_STACKS_MAX + RECORD_CANDIDATES_BYTES / 8)

/* An exec, the exit of a process's last thread, or the first span of a process image. */
struct process_record {
	struct record_header header;
	__u64 time_ns; /* CLOCK_MONOTONIC */
	__u32 pid;
	__u32 parent_pid;
	__u32 generation;	/* 0: not profiled until now */
	__u32 image_generation; /* exec: of a prepared image that took its place; 0: none */
	char comm[RECORD_COMM_MAX];
};

/* A span that has ended, as it stood in the SDK's memory afterwards. */
struct span_record {
	struct record_header header;
	__u64 time_ns; /* CLOCK_MONOTONIC, of the look */
	__u32 pid;
	__u32 generation;
	__u64 address; /* of the recordingSpan */
	__u8 trace_id[16];
	__u8 span_id[8];
	__u8 parent_id[8]; /* all 0: a root */
	__u64 start[2];	   /* time.Time: wall, ext */
	__u64 end[2];
	__u64 name_address;
	__u32 name_size;
	__u8 name_copied;
	__u8 trace_flags;
	__u8 status; /* codes.Code: 0 unset, 1 error, 2 ok */
	__u8 kind;   /* trace.SpanKind: 1 internal, 2 server, 3 client, 4 producer, 5 consumer */
	char name[RECORD_SPAN_NAME_MAX];
};

_Static_assert(sizeof(struct label_values) == RECORD_SPAN_NAME_MAX, "stands in a name's place");
_Static_assert(sizeof(struct span_candidate) == 88, "layout shared with BPF");
_Static_assert(sizeof(struct span_record) == 208, "layout shared with BPF");
_Static_assert(sizeof(struct sample_span) == 144, "layout shared with BPF");
_Static_assert(sizeof(struct sample_record) == 272, "layout shared with BPF");
_Static_assert(sizeof(struct process_record) == 48, "layout shared with BPF");

#endif
