/* SPDX-License-Identifier: Apache-2.0 */
/* What spans did while they were on no CPU, added up. */
#ifndef REPORT_WAIT_SUMS_H
#define REPORT_WAIT_SUMS_H

#include <stddef.h>
#include <stdint.h>

#include "report/hot_lines.h"
#include "report/report_view.h"

struct wait_sum {
	uint32_t name, service; /* string ids; of a span alone: 0 */
	size_t spans;
	uint64_t all_ns;
	uint64_t ns[PROFILE_WAIT_KINDS];
	/* What took most of it: in which state, and where in the program. */
	uint32_t state; /* row of functions */
	struct stack_frame at;
	uint64_t top_ns;
};

/* Of one span. -ENOMEM. */
int wait_sums_of_span(const struct report_view *v, uint32_t span, struct wait_sum *out);
/* Of all, by service and name, longest first. The caller frees `*out`. -ENOMEM. */
int wait_sums_find(const struct report_view *v, struct wait_sum **out, size_t *count);

#endif
