/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gobinary: everything spanprof needs from one Go executable, by a file descriptor alone. Opening
 * gives a plain structure; look-ups by address read the file lazily through the block cache.
 */
#ifndef GOBINARY_GOBINARY_H
#define GOBINARY_GOBINARY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "gobinary/pclntab.h"

struct block_cache;
struct gobinary;

/* Where offsets were taken from, best first. */
enum go_offsets_source {
	GO_OFFSETS_RTYPES, /* from the binary's own type descriptors */
	GO_OFFSETS_TABLE,  /* built-in table of its version */
	GO_OFFSETS_NEWEST, /* newest row of the table: unknown version */
};

/* Offsets in bytes. */
struct go_runtime_offsets {
	enum go_offsets_source source;
	uint16_t g_m, g_goid, g_stack_hi;
	uint16_t g_status; /* atomicstatus, 32 bits; 0 unknown */
	uint16_t g_labels; /* what pprof.SetGoroutineLabels set: a pointer; 0 unknown */
	uint16_t g_sched_sp, g_sched_pc, g_sched_bp;
	uint16_t g_syscall_sp, g_syscall_pc;
	uint16_t g_syscall_bp;	/* 0: not kept, before Go 1.23 */
	uint16_t g_wait_reason; /* 8 bits; 0 unknown */
	uint16_t m_curg;
	uint16_t m_thread;  /* procid, the kernel's number of the thread; 0 unknown */
	uint16_t m_vdso_sp; /* SP of who calls the vdso, then its pc; 0 unknown */
};

struct go_span_offsets {
	enum go_offsets_source source;
	uint16_t context, parent, name, start_time, end_time, status, kind; /* in recordingSpan */
	uint16_t context_trace_id, context_span_id, context_flags;	    /* in SpanContext */
	uint16_t unsampled_context; /* of SpanContext in nonRecordingSpan */
};

#define GO_GLOBALS_MAX 4

/*
 * From a span to the attributes of its tracer provider's resource: offsets in bytes. All 0: the way
 * was not found.
 */
struct go_resource_layout {
	uint16_t tracer;   /* in recordingSpan: a pointer */
	uint16_t provider; /* in tracer: a pointer */
	uint16_t resource; /* in TracerProvider: a pointer */
	uint16_t set;	   /* in Resource: an empty interface that holds an array of pairs */
	uint16_t key, value_type, value_text; /* in a pair: string, 64 bits, string */
	uint16_t pair_size;		      /* bytes of attribute.KeyValue */
	uint64_t pair_type;		      /* virtual address of its rtype */
	/*
	 * Where a program has its provider without any span: one of these variables, by its virtual
	 * address, points to an interface that holds a global.tracerProviderHolder, which begins
	 * with the provider as an interface. Rtypes of the holder, and of *TracerProvider.
	 */
	size_t global_count;
	uint64_t globals[GO_GLOBALS_MAX];
	uint64_t holder_type, provider_type;
};

/* Kinds of probe site; what the BPF program finds in registers there depends on it. */
enum go_probe_kind {
	GO_PROBE_RUNTIME_TRACE, /* jbe of (*recordingSpan).runtimeTrace: RAX/X0 = span */
	GO_PROBE_WITH_VALUE, /* CALL context.WithValue in (*tracer).Start: R8 = span, RSI = rtype */
	GO_PROBE_NEW_RECORDING,	  /* jbe of (*tracer).newRecordingSpan: SpanContext at SP + 72 */
	GO_PROBE_NEWPROC_RUNQPUT, /* CALL runtime.runqput in newproc.func1: RBX = new g */
	/*
	 * RET of (*tracer).Start, which has one only: RAX, RBX = context, RCX, RDI = span (X0 to
	 * X3), each an interface. Single-stepped, so the last resort.
	 */
	GO_PROBE_TRACER_START_RET,
	GO_PROBE_KIND_COUNT,
};

struct go_probe_site {
	bool present;
	uint64_t address;     /* virtual, of the probed instruction */
	uint64_t file_offset; /* what a uprobe wants */
	bool on_branch;	      /* a prologue's conditional branch: fires again after stack growth */
};

#define GO_SPAN_ITABS_MAX    4
#define GO_CONTEXT_ITABS_MAX 8

/*
 * Interface tables, virtual addresses: where one stands in memory, the next word points to the
 * value. All contexts named here begin with the context they were made from.
 */
struct go_itabs {
	size_t span_count, context_count;
	uint64_t span[GO_SPAN_ITABS_MAX];	/* of *recordingSpan, as any interface */
	uint64_t context[GO_CONTEXT_ITABS_MAX]; /* of context's own types as context.Context */
};

struct gobinary_info {
	char go_version[32];	  /* "go1.26.8"; "" unknown */
	char main_path[256];	  /* package path of main, "" unknown */
	char module_version[128]; /* of the main module, "" or "(devel)" */
	char vcs_revision[64];	  /* "" unknown */
	char sdk_version[64];	  /* go.opentelemetry.io/otel/sdk in build info, "" unknown */
	char build_id_go[128];
	char build_id_gnu[128];
	bool stripped; /* no .symtab */
	bool pie;
	bool cgo;     /* crosscall2 is linked in, which runtime/cgo brings: C calls are possible */
	bool has_sdk; /* recordingSpan's type is linked in */
	/*
	 * Before Go 1.21: a function that needs no frame keeps no frame record, though it calls
	 * others, and the frame pointers of a system stack lead past the goroutine's first frames.
	 */
	bool frameless_callers;
	bool tls_known;
	int32_t tls_offset;
	uint64_t text_start, text_end; /* virtual */
	struct go_runtime_offsets runtime;
	struct go_span_offsets span;
	struct go_resource_layout resource;
	uint64_t span_type;	 /* virtual address of *recordingSpan's rtype, 0 unknown */
	uint64_t unsampled_type; /* of nonRecordingSpan's: the SDK's span that is sampled out */
	uint64_t allgs;		 /* virtual address of runtime.allgs, a slice; 0 unknown */
	struct go_itabs itabs;
	struct go_probe_site probes[GO_PROBE_KIND_COUNT];
	size_t top_frame_count; /* functions in which a whole stack ends */
	struct {
		uint64_t start, end;
	} top_frames[8];
	/* [start, end) of functions at which the unwinder changes stacks; 0 when absent. */
	struct {
		uint64_t start, end;
	} systemstack, mcall, morestack, asmcgocall, cgocallback, sigtramp, cgo_sigtramp, sigreturn,
		goexit;
	/* Functions that are "called" where no call stands: their return address executes itself.
	 */
	struct {
		uint64_t start, end;
	} async_preempt, sigpanic;
};

/* Duplicates `fd`; `cache` is lent. -ENOEXEC not ELF, -ENOENT not a Go program, -EINVAL, -ENOMEM.
 */
int gobinary_open(int fd, struct block_cache *cache, struct gobinary **out);
void gobinary_close(struct gobinary *b);
/*
 * Look-ups go through another cache from here on: the opening thread's gives way to the user's. `b`
 * may be NULL.
 */
void gobinary_set_cache(struct gobinary *b, struct block_cache *cache);
/* Whether its file has no name any more. */
bool gobinary_is_deleted(const struct gobinary *b);
/*
 * Why a goroutine waits, in the runtime's own words: "chan receive". "" is no reason. NULL: not one
 * of this runtime's, or they were not found. Lent for as long as the file is open.
 */
const char *gobinary_get_wait_reason(const struct gobinary *b, uint8_t reason);
/* These two may be asked for NULL, no Go program: nothing is known, all zero; and NULL. */
const struct gobinary_info *gobinary_get_info(const struct gobinary *b);
struct pclntab *gobinary_get_pclntab(struct gobinary *b); /* lent */

#endif
