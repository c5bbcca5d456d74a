/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A Go runtime and SDK as far as the BPF programs look at them, in C: goroutines, threads and spans
 * are plain structures, and the probed instructions are nops with the registers set as Go has them.
 */
#ifndef UNIT_FAKE_GO_H
#define UNIT_FAKE_GO_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <spanprof/target.h>

struct fake_g {
	uint64_t other[3];
	struct fake_m *m;
	uint64_t goid;
	uint64_t stack_hi;
	uint64_t sched_sp, sched_pc, sched_bp;
	uint64_t syscall_sp, syscall_pc;
	void *labels;
};

struct fake_m {
	struct fake_g *g0, *gsignal;
	uint64_t other[5];
	struct fake_g *curg;
};

struct fake_context {
	uint8_t trace_id[16];
	uint8_t span_id[8];
	uint8_t flags;
};

struct fake_span {
	uint64_t other[2];
	uint64_t kind;
	const char *name;
	uint64_t name_size;
	uint64_t start_wall, start_ext;
	uint64_t end_wall, end_ext;
	uint64_t status;
	struct fake_context context, parent;
	uint8_t rest[TARGET_SPAN_WINDOW]; /* read, too; a real one has no end within */
};

#define FAKE_SPAN_TYPE	    0x5ca1ab1e0
#define FAKE_UNSAMPLED_TYPE 0x5ca1ab200
/* Interface tables: any numbers that are not found elsewhere in memory. */
#define FAKE_CANCEL_ITAB       0x17ab50001100
#define FAKE_VALUE_ITAB	       0x17ab50001200
#define FAKE_SPAN_PLACE(field) (offsetof(struct fake_span, field) - 16)

/* Where this thread keeps g, as Go's own threads do. */
static __thread struct fake_g *fake_current_g;

static inline struct target_process fake_target(uint32_t generation)
{
	return (struct target_process){
		.generation = generation,
		.flags = TARGET_GO | TARGET_SPANS | TARGET_CGO,
		.tls_offset =
			(int32_t)((char *)&fake_current_g - (char *)__builtin_thread_pointer()),
		.g_m = offsetof(struct fake_g, m),
		.g_goid = offsetof(struct fake_g, goid),
		.g_stack_hi = offsetof(struct fake_g, stack_hi),
		.g_sched_sp = offsetof(struct fake_g, sched_sp),
		.g_sched_pc = offsetof(struct fake_g, sched_pc),
		.g_sched_bp = offsetof(struct fake_g, sched_bp),
		.g_syscall_sp = offsetof(struct fake_g, syscall_sp),
		.g_syscall_pc = offsetof(struct fake_g, syscall_pc),
		.m_curg = offsetof(struct fake_m, curg),
		.g_labels = offsetof(struct fake_g, labels),
		.span = {.window = 16,
			 .trace_id = FAKE_SPAN_PLACE(context),
			 .span_id = FAKE_SPAN_PLACE(context.span_id),
			 .trace_flags = FAKE_SPAN_PLACE(context.flags),
			 .parent_id = FAKE_SPAN_PLACE(parent.span_id),
			 .name = FAKE_SPAN_PLACE(name),
			 .start_time = FAKE_SPAN_PLACE(start_wall),
			 .end_time = FAKE_SPAN_PLACE(end_wall),
			 .status = FAKE_SPAN_PLACE(status),
			 .kind = FAKE_SPAN_PLACE(kind),
			 .unsampled_trace_id = 8},
		.span_type = FAKE_SPAN_TYPE,
		.unsampled_type = FAKE_UNSAMPLED_TYPE,
		.type_mask = UINT64_MAX,
		.itabs = {.start = FAKE_CANCEL_ITAB, .end = FAKE_VALUE_ITAB + 1},
	};
}

/*
 * The probed instructions. `STACK_ENOUGH` and `STACK_GROWS` set the flags as the prologue's
 * comparison does where the branch to morestack is not taken, and where it is.
 */
#if defined(__aarch64__)
#define STACK_ENOUGH "cmp sp, #0\n"
#define STACK_GROWS  "cmn xzr, xzr\n"
#define FAKE_RESULTS                                                                               \
	register uint64_t r2 asm("x2") = a2, r3 asm("x3") = a3,                                    \
			     rg asm("x28") = (uint64_t)(uintptr_t)g
#define FAKE_REGISTERS                                                                             \
	register uint64_t r0 asm("x0") = a0, r1 asm("x1") = a1, r4 asm("x4") = a4,                 \
			     r5 asm("x5") = a5, rg asm("x28") = (uint64_t)(uintptr_t)g
#else
#define STACK_ENOUGH "cmp $0, %%rsp\n"
#define STACK_GROWS  "stc\n"
#define FAKE_RESULTS                                                                               \
	register uint64_t r2 asm("rcx") = a2, r3 asm("rdi") = a3,                                  \
			     rg asm("r14") = (uint64_t)(uintptr_t)g
#define FAKE_REGISTERS                                                                             \
	register uint64_t r0 asm("rax") = a0, r1 asm("rbx") = a1, r4 asm("rsi") = a4,              \
			     r5 asm("r8") = a5, rg asm("r14") = (uint64_t)(uintptr_t)g
#endif

#define FAKE_PROBE(label, flags)                                                                   \
	extern char label[] __attribute__((visibility("hidden")));                                 \
	static __attribute__((noinline, used)) void fire_##label(                                  \
		uint64_t a0, uint64_t a1, uint64_t a4, uint64_t a5, struct fake_g *g)              \
	{                                                                                          \
		FAKE_REGISTERS;                                                                    \
                                                                                                   \
		asm volatile(flags ".globl " #label "\n" #label ": nop\n" ::"r"(r0), "r"(r1),      \
			     "r"(r4), "r"(r5), "r"(rg)                                             \
			     : "cc", "memory");                                                    \
	}

FAKE_PROBE(fake_runtime_trace, STACK_ENOUGH)
FAKE_PROBE(fake_growing_stack, STACK_GROWS)
FAKE_PROBE(fake_with_value, STACK_ENOUGH)
FAKE_PROBE(fake_newproc, STACK_ENOUGH)

/* The return of a function whose second result is an interface: its table, its value. */
extern char fake_start_return[] __attribute__((visibility("hidden")));

static __attribute__((noinline, used)) void fire_fake_start_return(uint64_t a2, uint64_t a3,
								   struct fake_g *g)
{
	FAKE_RESULTS;

	asm volatile(".globl fake_start_return\nfake_start_return: nop\n" ::"r"(r2), "r"(r3),
		     "r"(rg)
		     : "cc", "memory");
}

#define ADDRESS(pointer) ((uint64_t)(uintptr_t)(pointer))

static inline void fake_start(struct fake_span *span, struct fake_g *g)
{
	fire_fake_runtime_trace(ADDRESS(span), 0, 0, 0, g);
}

/* `go`: on g0, whose thread runs the creator. */
static inline void fake_go(struct fake_g *created, struct fake_g *g0)
{
	fire_fake_newproc(0, ADDRESS(created), 0, 0, g0);
}

static inline void fake_span_make(struct fake_span *s, uint8_t trace, uint8_t id, const char *name)
{
	memset(s, 0, sizeof(*s));
	memset(s->context.trace_id, trace, sizeof(s->context.trace_id));
	memset(s->context.span_id, id, sizeof(s->context.span_id));
	s->context.flags = 1;
	s->name = name;
	s->name_size = strlen(name);
}

/* Where an address of our own text lies in our file, as a probe wants it. */
static inline uint64_t own_file_offset(const void *address)
{
	uint64_t start, limit, offset, found = 0, at = ADDRESS(address);
	FILE *file = fopen("/proc/self/maps", "re");
	char line[512];

	while (file && fgets(line, sizeof(line), file))
		if (sscanf(line, "%lx-%lx %*s %lx", &start, &limit, &offset) == 3 && at >= start &&
		    at < limit)
			found = at - start + offset;
	if (file)
		fclose(file);
	return found;
}

#endif
