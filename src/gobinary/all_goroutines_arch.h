/* SPDX-License-Identifier: Apache-2.0 */
/* How one architecture's code reads and writes variables. */
#ifndef GOBINARY_ALL_GOROUTINES_ARCH_H
#define GOBINARY_ALL_GOROUTINES_ARCH_H

#include <stddef.h>
#include <stdint.h>

extern const uint16_t all_goroutines_arch_machine;

/*
 * Addresses of variables that the code at `address` reads, writes or takes the address of, in the
 * code's order, at most `max`; returns their number. Stops at what it cannot decode.
 */
size_t all_goroutines_arch_variables(const uint8_t *code, size_t size, uint64_t address,
				     uint64_t *variables, size_t max);

#endif
