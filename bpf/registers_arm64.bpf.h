/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* arm64: registers, flags and the thread pointer. */
#ifndef REGISTERS_ARM64_BPF_H
#define REGISTERS_ARM64_BPF_H

typedef struct user_pt_regs saved_registers;

#define PSTATE_MODE  0xf
#define PSTATE_CARRY (1ull << 29)
#define PSTATE_ZERO  (1ull << 30)
#define IP_FIELD     pc

/* A macro: the verifier wants every read of a context at a constant offset from it. */
#define registers_take(to, from)                                                                   \
	do {                                                                                       \
		(to)->pc = (from)->pc;                                                             \
		(to)->sp = (from)->sp;                                                             \
		(to)->fp = (from)->regs[29];                                                       \
		(to)->lr = (from)->regs[30];                                                       \
		(to)->g = (from)->regs[28];                                                        \
	} while (0)

static __always_inline bool registers_are_user(const saved_registers *regs)
{
	return (regs->pstate & PSTATE_MODE) == 0;
}

static __always_inline __u64 thread_pointer(struct task_struct *task)
{
	return BPF_CORE_READ(task, thread.uw.tp_value);
}

/* As on x86-64, with a return address beside it. */
#define FP_IS_ASIDE(fp, sp) ((fp) == (sp)-24)

/* Prologue `cmp; b.ls morestack`: taken when carry is clear or zero is set. */
#define stack_check_branches(ctx) (!((ctx)->pstate & PSTATE_CARRY) || ((ctx)->pstate & PSTATE_ZERO))

#define SIGNAL_ENTRY_SAVED 0

/* The signal frame lies above sigtramp's own frame, whose size is not known here. */
static __always_inline bool signal_frame_registers(__u64 frame, struct user_registers *to)
{
	return false;
}

/* Where a function that calls the vdso kept its caller's frame pointer: not known. */
#define VDSO_FP_SLOT(sp) 0

/* Go's ABIInternal argument registers; results come in the same ones. */
#define GO_ARGUMENT_0(ctx) ((ctx)->regs[0])
#define GO_ARGUMENT_1(ctx) ((ctx)->regs[1])
#define GO_ARGUMENT_2(ctx) ((ctx)->regs[2])
#define GO_ARGUMENT_3(ctx) ((ctx)->regs[3])
#define GO_ARGUMENT_4(ctx) ((ctx)->regs[4])
#define GO_ARGUMENT_5(ctx) ((ctx)->regs[5])
#define GO_G(ctx)	   ((ctx)->regs[28])

#endif
