/* SPDX-License-Identifier: Apache-2.0 */
/* A branch to the next instruction; Go's ABIInternal on arm64. */
#include "capture/calibrate_stub.h"

__attribute__((noinline)) void calibrate_stub_run(const struct calibrate_registers *r)
{
	register uint64_t a0 asm("x0") = r->arguments[0];
	register uint64_t a1 asm("x1") = r->arguments[1];
	register uint64_t a4 asm("x4") = r->arguments[2];
	register uint64_t a5 asm("x5") = r->arguments[3];
	register uint64_t g asm("x28") = r->g;

	asm volatile(".globl calibrate_stub_probed\n"
		     ".hidden calibrate_stub_probed\n"
		     "calibrate_stub_probed: b .+4\n" ::"r"(a0),
		     "r"(a1), "r"(a4), "r"(a5), "r"(g)
		     : "memory");
}
