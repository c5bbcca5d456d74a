/* SPDX-License-Identifier: Apache-2.0 */
/* Goroutines and spans in this process's own memory, with fields where no version has them. */
#ifndef UNIT_FAKE_GOROUTINES_H
#define UNIT_FAKE_GOROUTINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/clock.h"
#include "gobinary/gobinary.h"
#include "process/goroutines.h"
#include "waiting/waiting.h"

#define FAKE_GOROUTINES	 200
#define FAKE_SPANS	 4 /* of each */
#define FAKE_STACK_WORDS 256
#define FAKE_TEXT	 0x401000ull

struct fake_m {
	uint64_t g0;
	uint64_t thread;
};

struct fake_g {
	uint64_t goid;
	uint64_t stack_low, stack_high;
	uint64_t sp, pc, fp;
	uint64_t syscall_sp, syscall_pc, syscall_fp;
	const struct fake_m *m;
	uint64_t wait_reason;
	uint32_t status;
};

struct fake_span {
	uint64_t lock;
	uint8_t parent[40], context[40];
	const char *name;
	uint64_t name_size;
	uint64_t start[3], end[3];
	uint32_t status, kind;
};

struct fake_goroutine {
	struct fake_g g;
	struct fake_span spans[FAKE_SPANS];
	struct waiting_span told[FAKE_SPANS];
	struct waiting_goroutine goroutine; /* what the source tells of it; no spans: nothing */
	struct waiting_goroutine older;
	uint64_t stack[FAKE_STACK_WORDS];
};

struct fake_goroutines {
	struct gobinary_info info;
	uint64_t version;
	int error; /* what the source answers */
	struct fake_goroutine all[FAKE_GOROUTINES];
};

static inline uint64_t fake_address(const void *pointer)
{
	return (uint64_t)(uintptr_t)pointer;
}

static inline void fake_span_fill(struct fake_span *s, uint8_t id, const char *name)
{
	memset(s, 0, sizeof(*s));
	memset(s->context, 0xa0 + id, 16);
	memset(s->context + 16, id, 8);
	s->context[24] = 1;
	s->name = name;
	s->name_size = strlen(name);
	s->start[0] = 1; /* not zero: it has begun */
	s->start[1] = clock_wall_ns() / 1000000000 + 62135596800ull - 5;
}

/* Parked for reason 7, three frames deep, in the second of two spans that are open. */
static inline void fake_goroutine_fill(struct fake_goroutine *f, uint64_t goid, uint32_t generation)
{
	memset(f, 0, sizeof(*f));
	f->g = (struct fake_g){
		.goid = goid,
		.stack_low = fake_address(f->stack),
		.stack_high = fake_address(f->stack + FAKE_STACK_WORDS),
		.sp = fake_address(f->stack + 32),
		.fp = fake_address(f->stack + 40),
		.pc = FAKE_TEXT + 0x10,
		.wait_reason = 7,
		.status = GOROUTINE_WAITING,
	};
	for (size_t i = 0; i < 3; i++) {
		f->stack[40 + 40 * i] = i < 2 ? fake_address(f->stack + 40 + 40 * (i + 1)) : 0;
		f->stack[41 + 40 * i] = FAKE_TEXT + 0x100 * (i + 1);
	}
	for (uint8_t i = 0; i < FAKE_SPANS; i++) {
		fake_span_fill(&f->spans[i], i + 1, i == 1 ? "GET /inner" : "GET /outer");
		f->told[i].address = fake_address(&f->spans[i]);
		memset(&f->told[i].span_id, i + 1, sizeof(f->told[i].span_id));
	}
	f->goroutine = (struct waiting_goroutine){
		.generation = generation,
		.g = fake_address(&f->g),
		.goid = goid,
		.span_count = 2,
		.spans = f->told,
	};
}

static inline void fake_span_end(struct fake_span *s)
{
	s->end[0] = s->end[1] = 1;
}

static inline void fake_goroutines_open(struct fake_goroutines *f)
{
	memset(f, 0, sizeof(*f));
	f->info.text_start = FAKE_TEXT;
	f->info.text_end = FAKE_TEXT + 0x10000;
	f->info.runtime = (struct go_runtime_offsets){
		.g_goid = offsetof(struct fake_g, goid),
		.g_stack_hi = offsetof(struct fake_g, stack_high),
		.g_status = offsetof(struct fake_g, status),
		.g_sched_sp = offsetof(struct fake_g, sp),
		.g_sched_pc = offsetof(struct fake_g, pc),
		.g_sched_bp = offsetof(struct fake_g, fp),
		.g_syscall_sp = offsetof(struct fake_g, syscall_sp),
		.g_syscall_pc = offsetof(struct fake_g, syscall_pc),
		.g_syscall_bp = offsetof(struct fake_g, syscall_fp),
		.g_wait_reason = offsetof(struct fake_g, wait_reason),
		.g_m = offsetof(struct fake_g, m),
		.m_thread = offsetof(struct fake_m, thread),
	};
	f->info.span = (struct go_span_offsets){
		.context = offsetof(struct fake_span, context),
		.parent = offsetof(struct fake_span, parent),
		.name = offsetof(struct fake_span, name),
		.start_time = offsetof(struct fake_span, start),
		.end_time = offsetof(struct fake_span, end),
		.status = offsetof(struct fake_span, status),
		.kind = offsetof(struct fake_span, kind),
		.context_span_id = 16,
		.context_flags = 24,
	};
}

static inline uint64_t fake_get_version(void *context)
{
	const struct fake_goroutines *f = context;

	return f->version;
}

static inline int fake_each(void *context,
			    void (*tell)(void *to, const struct waiting_goroutine *goroutine),
			    void *to)
{
	const struct fake_goroutines *f = context;

	for (size_t i = 0; i < FAKE_GOROUTINES && !f->error; i++) {
		if (f->all[i].older.span_count)
			tell(to, &f->all[i].older);
		if (f->all[i].goroutine.span_count)
			tell(to, &f->all[i].goroutine);
	}
	return f->error;
}

#endif
