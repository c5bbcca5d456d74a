/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* x86-64: registers, flags and the thread pointer. */
#ifndef REGISTERS_X86_64_BPF_H
#define REGISTERS_X86_64_BPF_H

typedef struct pt_regs saved_registers;

#define FLAG_CARRY 0x1
#define FLAG_ZERO  0x40
#define USER_CS	   0x33
#define USER_SS	   0x2b
#define IP_FIELD   rip

/* A macro: the verifier wants every read of a context at a constant offset from it. */
#define registers_take(to, regs)                                                                   \
	do {                                                                                       \
		(to)->pc = (regs)->rip;                                                            \
		(to)->sp = (regs)->rsp;                                                            \
		(to)->fp = (regs)->rbp;                                                            \
		(to)->lr = 0;                                                                      \
		(to)->g = (regs)->r14;                                                             \
	} while (0)

static __always_inline bool registers_are_user(const saved_registers *regs)
{
	return (__u16)regs->cs == USER_CS && (__u16)regs->ss == USER_SS;
}

static __always_inline __u64 thread_pointer(struct task_struct *task)
{
	return BPF_CORE_READ(task, thread.fsbase);
}

/*
 * Around a call of duffcopy or duffzero, as Go before 1.26 has them, the frame pointer's own value
 * is saved below SP, and it points there.
 */
#define FP_IS_ASIDE(fp, sp) ((fp) == (sp)-16)

/* Prologue `cmp; jbe morestack`: the branch is taken, the function will be entered again. */
#define stack_check_branches(ctx) ((ctx)->eflags & (FLAG_CARRY | FLAG_ZERO))

/* The general registers within the ucontext that the kernel puts on a signal's stack. */
#define UCONTEXT_REGISTERS 40
enum ucontext_register {
	UCONTEXT_RBP = 10,
	UCONTEXT_RSP = 15,
	UCONTEXT_RIP = 16,
	UCONTEXT_CS = 18
};

/* Bytes of the registers that C has callees save, with which the entry of a handler begins. */
#define SIGNAL_ENTRY_SAVED 48

/* CS and, in the last quarter, SS, as a signal frame has them in this word of it. */
#define USER_SEGMENTS (USER_CS | (__u64)USER_SS << 48)

/*
 * What a signal interrupted, when a signal frame lies at `frame`: the restorer's address, then the
 * ucontext. A wrong guess is told by the word of the segments.
 */
static __always_inline bool signal_frame_registers(__u64 frame, struct user_registers *to)
{
	__u64 saved[UCONTEXT_CS + 1];

	if (bpf_probe_read_user(saved, sizeof(saved), (void *)(frame + 8 + UCONTEXT_REGISTERS)) ||
	    saved[UCONTEXT_CS] != USER_SEGMENTS)
		return false;
	to->pc = saved[UCONTEXT_RIP];
	to->sp = saved[UCONTEXT_RSP];
	to->fp = saved[UCONTEXT_RBP];
	to->lr = 0;
	return true;
}

/* Where a function that calls the vdso kept its caller's frame pointer; `sp` is that caller's. */
#define VDSO_FP_SLOT(sp) ((sp)-16)

/* Go's ABIInternal argument registers; results come in the same ones. */
#define GO_ARGUMENT_0(ctx) ((ctx)->rax)
#define GO_ARGUMENT_1(ctx) ((ctx)->rbx)
#define GO_ARGUMENT_2(ctx) ((ctx)->rcx)
#define GO_ARGUMENT_3(ctx) ((ctx)->rdi)
#define GO_ARGUMENT_4(ctx) ((ctx)->rsi)
#define GO_ARGUMENT_5(ctx) ((ctx)->r8)
#define GO_G(ctx)	   ((ctx)->r14)

#endif
