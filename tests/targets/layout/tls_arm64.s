// SPDX-License-Identifier: Apache-2.0

#include "textflag.h"

// func getg() uintptr
TEXT ·getg(SB), NOSPLIT, $0-8
	MOVD g, R0
	MOVD R0, ret+0(FP)
	RET

// func gettp() unsafe.Pointer
TEXT ·gettp(SB), NOSPLIT, $0-8
	WORD $0xd53bd040 // mrs x0, tpidr_el0
	MOVD R0, ret+0(FP)
	RET
