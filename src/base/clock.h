/* SPDX-License-Identifier: Apache-2.0 */
/* Clocks: CLOCK_MONOTONIC, which samples carry, wall time, which profiles carry, and CPU time. */
#ifndef BASE_CLOCK_H
#define BASE_CLOCK_H

#include <stdint.h>

uint64_t clock_monotonic_ns(void);
uint64_t clock_wall_ns(void);	    /* since 1970-01-01 UTC */
uint64_t clock_thread_cpu_ns(void); /* used by the calling thread */

#endif
