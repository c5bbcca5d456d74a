/* SPDX-License-Identifier: Apache-2.0 */
/* A jump to the next instruction; Go's ABIInternal on x86-64. */
#include "capture/calibrate_stub.h"

__attribute__((noinline)) void calibrate_stub_run(const struct calibrate_registers *r)
{
	register uint64_t a0 asm("rax") = r->arguments[0];
	register uint64_t a1 asm("rbx") = r->arguments[1];
	register uint64_t a4 asm("rsi") = r->arguments[2];
	register uint64_t a5 asm("r8") = r->arguments[3];
	register uint64_t g asm("r14") = r->g;

	asm volatile(".globl calibrate_stub_probed\n"
		     ".hidden calibrate_stub_probed\n"
		     "calibrate_stub_probed: .byte 0xeb, 0x00\n" ::"r"(a0),
		     "r"(a1), "r"(a4), "r"(a5), "r"(g)
		     : "memory");
}
