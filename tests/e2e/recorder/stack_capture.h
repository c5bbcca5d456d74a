/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* What the recorder writes for each sample of spanprof's, in the same interrupt. */
#ifndef STACK_CAPTURE_H
#define STACK_CAPTURE_H

#define CAPTURE_STACK_MAX (256 << 10) /* bytes of each stack */
#define CAPTURE_G_WORDS	  24

/* The words of data[]: stack_bytes from sp upward, then curg_stack_bytes up to its stack's end. */
struct stack_capture {
	__u64 time_ns; /* CLOCK_MONOTONIC, just before the sampler's own */
	__u32 tid, in_kernel;
	__u64 ip, sp, bp; /* of user space */
	__u64 g, curg;	  /* runtime.g of the thread, and of the goroutine it runs; 0: none */
	__u64 curg_words[CAPTURE_G_WORDS];
	__u64 vdso_sp, vdso_pc; /* as the thread's runtime.m has them */
	__u64 curg_stack_address;
	__u32 stack_bytes, curg_stack_bytes;
	__u8 data[];
};

struct capture_config {
	__u32 tgid;
	__u32 m_curg, m_vdso_sp; /* offsets in runtime.m */
};

#endif
