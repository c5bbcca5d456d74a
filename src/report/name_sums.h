/* SPDX-License-Identifier: Apache-2.0 */
/* Sums by span name, the way a person thinks of endpoints and operations. */
#ifndef REPORT_NAME_SUMS_H
#define REPORT_NAME_SUMS_H

#include <stddef.h>
#include <stdint.h>

#include "report/hot_lines.h"
#include "report/report_view.h"

struct name_sum {
	uint32_t name;	  /* string id */
	uint32_t service; /* string id, 0 unknown */
	size_t first;	  /* used while they are added up */
	size_t spans;
	uint64_t samples;
	uint64_t median, max;	    /* samples per span */
	struct stack_frame hottest; /* the function with the most samples of all its spans */
};

/* Most samples first; the caller frees `out`. -ENOMEM. */
int name_sums_find(const struct report_view *v, struct name_sum **out, size_t *count);
/* The function most blamed among `rows`. -ENOMEM. */
int name_sums_hottest(const struct report_view *v, const uint32_t *rows, size_t row_count,
		      struct stack_frame *out);

#endif
