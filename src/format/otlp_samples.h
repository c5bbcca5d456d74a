/* SPDX-License-Identifier: Apache-2.0 */
/* Private to format: the samples of a profile as an OTLP request will tell them apart. */
#ifndef FORMAT_OTLP_SAMPLES_H
#define FORMAT_OTLP_SAMPLES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/messages.h"
#include "profile/profile.h"

struct otlp_sample {
	uint32_t resource, stack, span;
	bool off_cpu; /* count: ns on no CPU, not samples */
	bool truncated;
	uint64_t count;
};

/*
 * All samples and waits, ordered by resource, those on a CPU first, each once that a request tells
 * apart; stacks with the same locations have one handle. For the wire (`file` false) spans that
 * were not sampled are no spans, and no stack is truncated. -ENOMEM.
 */
int otlp_samples_collect(struct arena *arena, const struct profile *p, bool file,
			 struct otlp_sample **samples, size_t *count);

#endif
