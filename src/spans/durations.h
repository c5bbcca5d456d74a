/* SPDX-License-Identifier: Apache-2.0 */
/* Many durations in little memory: counts in buckets that are at most 1/8 wide, for percentiles. */
#ifndef SPANS_DURATIONS_H
#define SPANS_DURATIONS_H

#include <stdint.h>

#define DURATIONS_BUCKETS 272 /* 8 an octave, from below 1 µs to beyond 2 hours */

struct durations {
	uint64_t count, sum_ns, max_ns;
	uint32_t buckets[DURATIONS_BUCKETS];
};

void durations_add(struct durations *d, uint64_t ns);
void durations_merge(struct durations *to, const struct durations *from);
/* The duration, in ns, that this share (0 … 1) of all does not exceed; 0 when there are none.
 * Within 1/16 of the exact one. */
uint64_t durations_quantile(const struct durations *d, double share);

#endif
