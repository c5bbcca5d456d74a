/* SPDX-License-Identifier: Apache-2.0 */
/* The two clocks: CLOCK_MONOTONIC, which samples carry, and wall time, which profiles carry. */
#ifndef BASE_CLOCK_H
#define BASE_CLOCK_H

#include <stdint.h>

uint64_t clock_monotonic_ns(void);
uint64_t clock_wall_ns(void); /* since 1970-01-01 UTC */

#endif
