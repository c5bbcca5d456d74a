// SPDX-License-Identifier: Apache-2.0

#include "textflag.h"

// func snapshot(words *[maxWords]uintptr, max uintptr) (sp, pc, count uintptr)
TEXT ·snapshot(SB), NOSPLIT, $0-40
	MOVQ words+0(FP), DI
	MOVQ max+8(FP), BX
	LEAQ words+0(FP), SI
	MOVQ SI, sp+16(FP)
	MOVQ -8(SI), AX
	MOVQ AX, pc+24(FP)
	MOVQ (TLS), DX
	MOVQ 8(DX), CX // g.stack.hi
	SUBQ SI, CX
	SHRQ $3, CX
	CMPQ CX, BX
	JLS  copy
	MOVQ BX, CX
copy:
	MOVQ CX, count+32(FP)
	CLD
	REP; MOVSQ
	RET
