/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* The user registers we need, by one name on both architectures. */
#ifndef REGISTERS_BPF_H
#define REGISTERS_BPF_H

#include <linux/types.h>
#include <linux/ptrace.h>
#include <stdbool.h>

#include "kernel_types.h"

struct user_registers {
	__u64 pc;
	__u64 sp;
	__u64 fp;
	__u64 lr; /* arm64 */
	__u64 g;  /* what Go keeps the goroutine in: only sure inside Go code */
};

#if defined(__TARGET_ARCH_arm64)
#include "registers_arm64.bpf.h"
#else
#include "registers_x86_64.bpf.h"
#endif

#endif
