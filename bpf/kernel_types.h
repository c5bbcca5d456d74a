/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* The few kernel structures that are read, relocated by CO-RE to the running kernel's layout. */
#ifndef KERNEL_TYPES_H
#define KERNEL_TYPES_H

#include <linux/bpf.h>
#include <linux/bpf_perf_event.h>
#include <bpf/bpf_core_read.h>

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

#if defined(__TARGET_ARCH_arm64)
struct thread_struct {
	struct {
		unsigned long tp_value;
	} uw;
};
#else
struct thread_struct {
	unsigned long fsbase;
};
#endif

struct atomic_counter___kernel {
	int counter;
};

struct signal_struct {
	struct atomic_counter___kernel live;
};

struct super_block {
	__u32 s_dev;
};

struct inode {
	unsigned long i_ino;
	struct super_block *i_sb;
};

struct file {
	struct inode *f_inode;
};

struct linux_binprm {
	struct file *file;
};

struct task_struct {
	int pid;
	int tgid;
	void *stack;
	struct task_struct *real_parent;
	struct signal_struct *signal;
	char comm[16];
	struct thread_struct thread;
};

#pragma clang attribute pop

#endif
