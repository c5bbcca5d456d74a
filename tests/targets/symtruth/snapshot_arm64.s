// SPDX-License-Identifier: Apache-2.0

#include "textflag.h"

// func snapshot(words *[maxWords]uintptr, max uintptr) (sp, pc, count uintptr)
TEXT ·snapshot(SB), NOSPLIT, $0-40
	MOVD ZR, count+32(FP)
	RET
