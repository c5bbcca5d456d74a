/* SPDX-License-Identifier: Apache-2.0 */
/* Buckets by the highest four bits of a number; see durations.h. */
#include "spans/durations.h"

#define LINEAR	    8 /* below it, and within each octave, every value has a bucket */
#define FIRST_SHIFT 7 /* the unit is 128 ns */

static uint32_t bucket_of(uint64_t ns)
{
	uint64_t units = ns >> FIRST_SHIFT;
	unsigned octave;
	uint32_t bucket;

	if (units < LINEAR)
		return (uint32_t)units;
	octave = 63 - (unsigned)__builtin_clzll(units) - 3;
	bucket = LINEAR * (octave + 1) + (uint32_t)(units >> octave) - LINEAR;
	return bucket < DURATIONS_BUCKETS ? bucket : DURATIONS_BUCKETS - 1;
}

/* In the middle of the bucket, ns. */
static uint64_t middle_of(uint32_t bucket)
{
	unsigned octave = bucket < LINEAR ? 0 : bucket / LINEAR - 1;
	uint64_t units = bucket < LINEAR ? bucket : LINEAR + bucket % LINEAR;

	return ((units << octave) << FIRST_SHIFT) + ((1ull << octave) << FIRST_SHIFT) / 2;
}

/* What programs say of times may be anything. */
static uint64_t sum(uint64_t a, uint64_t b)
{
	return a + b < a ? UINT64_MAX : a + b;
}

void durations_add(struct durations *d, uint64_t ns)
{
	d->buckets[bucket_of(ns)]++;
	d->count++;
	d->sum_ns = sum(d->sum_ns, ns);
	if (ns > d->max_ns)
		d->max_ns = ns;
}

void durations_merge(struct durations *to, const struct durations *from)
{
	for (uint32_t i = 0; i < DURATIONS_BUCKETS; i++)
		to->buckets[i] += from->buckets[i];
	to->count += from->count;
	to->sum_ns = sum(to->sum_ns, from->sum_ns);
	if (from->max_ns > to->max_ns)
		to->max_ns = from->max_ns;
}

uint64_t durations_quantile(const struct durations *d, double share)
{
	double wanted = share * (double)d->count;
	uint64_t seen = 0, ns;

	if (!d->count || wanted > (double)(d->count - 1))
		return d->max_ns;
	for (uint32_t i = 0; i < DURATIONS_BUCKETS; i++) {
		seen += d->buckets[i];
		if (!seen || (double)seen < wanted)
			continue;
		if (i == DURATIONS_BUCKETS - 1)
			break; /* all that is longer */
		ns = middle_of(i);
		return ns < d->max_ns ? ns : d->max_ns;
	}
	return d->max_ns;
}
