/* SPDX-License-Identifier: Apache-2.0 */
/* A Go program with the SDK linked in, as far as gobinary looks at one; see go_image.h. */
#ifndef UNIT_GO_PROGRAM_H
#define UNIT_GO_PROGRAM_H

#include <stdio.h>

#include "go_image.h"
#include "go_types.h"

#define GO_PROGRAM_ALLGS (GO_IMAGE_VARIABLES + 0x100)

#if defined(__aarch64__)

/* ldr x16, [x28, 16]; cmp sp, x16; b.ls +8; ret; bl (of a call that does not matter) */
#define GO_PROGRAM_PROLOGUE                                                                        \
	"\x90\x0b\x40\xf9\xff\x63\x30\xeb\x49\x00\x00\x54\xc0\x03\x5f\xd6\x1f\x20\x03\xd5"
#define GO_PROGRAM_BRANCH 8 /* bytes before the branch */
#define GO_PROGRAM_RETURN 12
#define GO_PROGRAM_BODY	  "\xc0\x03\x5f\xd6\0\0\0\0\0\0\0\0\0\0\0" /* ret */
/* mrs x0, tpidr_el0; mov x27, 16; ldr x28, [x0, x27]; ret */
#define GO_PROGRAM_LOAD_G "\x40\xd0\x3b\xd5\x1b\x02\x80\xd2\x1c\x68\x7b\xf8\xc0\x03\x5f\xd6"
#define GO_PROGRAM_LOADER "runtime.load_g"
#define GO_PROGRAM_TLS	  16

/* adrp x27; ldp x0, x1, [x27, 0x100]; ldr x2, [x27, 0x110]; ret */
static inline void go_program_put_allgadd(struct go_image *m, uint64_t at)
{
	uint64_t pages = (GO_IMAGE_VARIABLES >> 12) - (at >> 12);

	go_image_put32(m, at,
		       0x9000001bu | (uint32_t)(pages & 3) << 29 | (uint32_t)(pages >> 2) << 5);
	go_image_put(m, at + 4, "\x60\x07\x50\xa9\x62\x8b\x40\xf9\xc0\x03\x5f\xd6", 12);
}

static inline void go_program_put_call(struct go_image *m, uint64_t at, uint64_t target)
{
	go_image_put32(m, at, 0x94000000u | (((target - at) / 4) & 0x3ffffff));
}

#else

/* cmp rsp, [r14+16]; jbe +2; push rbp; ret; nop */
#define GO_PROGRAM_PROLOGUE "\x49\x3b\x66\x10\x76\x02\x55\xc3\x90"
#define GO_PROGRAM_BRANCH   4
#define GO_PROGRAM_RETURN   7
/* ret, then int3 as Go pads */
#define GO_PROGRAM_BODY	    "\xc3\xcc\xcc\xcc\xcc\xcc\xcc\xcc\xcc\xcc\xcc\xcc\xcc\xcc\xcc\xcc"
/* mov rcx, -8; mov rax, fs:[rcx]; ret */
#define GO_PROGRAM_LOAD_G   "\x48\xc7\xc1\xf8\xff\xff\xff\x64\x48\x8b\x01\xc3"
#define GO_PROGRAM_LOADER   "runtime.stackcheck"
#define GO_PROGRAM_TLS	    (-8)

/* mov rcx, [capacity]; mov rbx, [length]; inc rbx; mov rax, [pointer]; ret */
static inline void go_program_put_allgadd(struct go_image *m, uint64_t at)
{
	go_image_put(m, at, "\x48\x8b\x0d....\x48\x8b\x1d....\x48\xff\xc3\x48\x8b\x05....\xc3", 25);
	go_image_put32(m, at + 3, (uint32_t)(GO_PROGRAM_ALLGS + 16 - (at + 7)));
	go_image_put32(m, at + 10, (uint32_t)(GO_PROGRAM_ALLGS + 8 - (at + 14)));
	go_image_put32(m, at + 20, (uint32_t)(GO_PROGRAM_ALLGS - (at + 24)));
}

static inline void go_program_put_call(struct go_image *m, uint64_t at, uint64_t target)
{
	go_image_put(m, at, "\xe8", 1);
	go_image_put32(m, at + 1, (uint32_t)(target - at - 5));
}

#endif

#define GO_PROGRAM_ASSEMBLY 4 /* funcFlag of an assembly function */

struct go_program {
	struct go_image image;
	char names[3][256];
	struct go_types types;
	uint64_t span_itab, value_itab;
	uint64_t runtime_trace_site, new_recording_site, with_value_site, runqput_site;
	uint64_t start_return_site;
	uint64_t systemstack, goexit, mstart;
};

/* A function that is nothing but 16 bytes with a return. */
static inline uint64_t go_program_add(struct go_program *p, const char *name, uint8_t flags)
{
	return go_image_add_function(&p->image, name, flags, GO_PROGRAM_BODY, 16);
}

/* A function whose last instructions are a call; returns the place of that call. */
static inline uint64_t go_program_add_caller(struct go_program *p, const char *name,
					     uint64_t callee)
{
	static const uint8_t code[] = GO_PROGRAM_PROLOGUE GO_PROGRAM_BODY;
	const size_t before = sizeof(GO_PROGRAM_PROLOGUE) - 1;
	uint64_t entry = go_image_add_function(&p->image, name, 0, code, before + 16);

	go_program_put_call(&p->image, entry + before, callee);
	return entry + before;
}

static inline void go_program_add_allgadd(struct go_program *p)
{
	static const uint8_t code[32];

	go_program_put_allgadd(&p->image, go_image_add_function(&p->image, "runtime.allgadd", 0,
								code, sizeof(code)));
}

/* The span as trace.Span, and two contexts, of which one was not made from another. */
static inline void go_program_add_itabs(struct go_program *p)
{
	struct go_image *m = &p->image;
	uint64_t span =
		go_image_add_interface(m, "*trace.Span", "go.opentelemetry.io/otel/trace", 9);
	uint64_t context = go_image_add_interface(m, "*context.Context", "context", 4), pointer;
	const struct go_image_field parent = {"Context", context, 0};

	go_image_add_struct(m, "*context.valueCtx", "context", 48, &parent, 1, 0, false, &pointer);
	p->span_itab = go_image_add_itab(m, span, p->types.span_pointer, 9);
	p->value_itab = go_image_add_itab(m, context, pointer, 4);
	go_image_add_struct(m, "*context.todoCtx", "context", 0, NULL, 0, 0, false, &pointer);
	go_image_add_itab(m, context, pointer, 4);
}

static inline void go_program_fill(struct go_program *p, bool pie, const char *sdk_package,
				   bool cgo)
{
	static const char *const methods[] = {"(*recordingSpan).runtimeTrace",
					      "(*tracer).newRecordingSpan", "(*tracer).Start"};
	struct go_image *m = &p->image;
	uint64_t with_value, runqput;

	memset(p, 0, sizeof(*p));
	go_image_open(m, pie);
	go_types_add(m, sdk_package, 48, false, &p->types);
	go_program_add_itabs(p);
	for (size_t i = 0; i < 3; i++)
		snprintf(p->names[i], sizeof(p->names[i]), "%s.%s", sdk_package, methods[i]);
	go_program_add(p, "main.main", 0);
	with_value = go_program_add(p, "context.WithValue", 0);
	runqput = go_program_add(p, "runtime.runqput", 0);
	p->runtime_trace_site =
		GO_PROGRAM_BRANCH + go_image_add_function(m, p->names[0], 0, GO_PROGRAM_PROLOGUE,
							  sizeof(GO_PROGRAM_PROLOGUE) - 1);
	p->new_recording_site =
		GO_PROGRAM_BRANCH + go_image_add_function(m, p->names[1], 0, GO_PROGRAM_PROLOGUE,
							  sizeof(GO_PROGRAM_PROLOGUE) - 1);
	p->with_value_site = go_program_add_caller(p, p->names[2], with_value);
	p->start_return_site =
		p->with_value_site - (sizeof(GO_PROGRAM_PROLOGUE) - 1) + GO_PROGRAM_RETURN;
	p->runqput_site = go_program_add_caller(p, "runtime.newproc.func1", runqput);
	/* An ABI wrapper and the assembly function bear one name. */
	go_program_add(p, "runtime.systemstack", 0);
	p->systemstack = go_program_add(p, "runtime.systemstack", GO_PROGRAM_ASSEMBLY);
	go_image_add_function(m, GO_PROGRAM_LOADER, GO_PROGRAM_ASSEMBLY, GO_PROGRAM_LOAD_G,
			      sizeof(GO_PROGRAM_LOAD_G) - 1);
	p->goexit = go_program_add(p, "runtime.goexit", GO_PROGRAM_ASSEMBLY | 1);
	p->mstart = go_program_add(p, "runtime.mstart", GO_PROGRAM_ASSEMBLY | 1);
	go_program_add_allgadd(p);
	if (cgo)
		go_program_add(p, "crosscall2", GO_PROGRAM_ASSEMBLY);
	go_image_put_pclntab(m);
	go_image_put_module(m);
}

#endif
