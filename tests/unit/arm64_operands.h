/* SPDX-License-Identifier: Apache-2.0 */
/* The decoder of arm64 code, compiled in under other names: beside that of this machine. */
#ifndef UNIT_ARM64_OPERANDS_H
#define UNIT_ARM64_OPERANDS_H

#define code_operands_machine	 arm64_machine
#define code_operands_variables	 arm64_variables
#define code_operands_comparison arm64_comparison
#include "../../src/gobinary/code_operands_arm64.c"
#undef code_operands_machine
#undef code_operands_variables
#undef code_operands_comparison

/* The header has gone into it under those names. */
#undef GOBINARY_CODE_OPERANDS_H
#include "gobinary/code_operands.h"

#endif
