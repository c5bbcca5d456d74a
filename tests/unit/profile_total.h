/* SPDX-License-Identifier: Apache-2.0 */
/* How many samples a profile holds. */
#ifndef UNIT_PROFILE_TOTAL_H
#define UNIT_PROFILE_TOTAL_H

#include "profile/profile.h"

static inline uint64_t total(const struct profile *p)
{
	struct profile_view v;
	uint64_t sum = 0;

	profile_get_view(p, &v);
	for (size_t i = 1; i < v.sample_count; i++)
		sum += v.samples[i].count;
	return sum;
}

#endif
