/* SPDX-License-Identifier: Apache-2.0 */
/* What one architecture's code names: variables and numbers. */
#ifndef GOBINARY_CODE_OPERANDS_H
#define GOBINARY_CODE_OPERANDS_H

#include <stddef.h>
#include <stdint.h>

extern const uint16_t code_operands_machine;

/*
 * Addresses of variables that the code at `address` reads, writes or takes the address of, in the
 * code's order, at most `max`; returns their number. Stops at what it cannot decode.
 */
size_t code_operands_variables(const uint8_t *code, size_t size, uint64_t address,
			       uint64_t *variables, size_t max);
/* The number below 256 that the code compares with first; 0: none. Stops likewise. */
uint8_t code_operands_comparison(const uint8_t *code, size_t size);

#endif
