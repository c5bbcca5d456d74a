/* SPDX-License-Identifier: Apache-2.0 */
/* IDs in decimal, as dd-trace-go's profiler labels have them. */
#ifndef BASE_DECIMAL_H
#define BASE_DECIMAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A number of 1 to 20 digits as 64 bits, big endian; false: it is something else or larger. */
bool decimal_read(const char *text, size_t size, uint8_t to[8]);
/* The number as bytes, the same way. */
void decimal_put(uint64_t value, uint8_t to[8]);

#endif
