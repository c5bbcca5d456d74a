/* SPDX-License-Identifier: Apache-2.0 */
/* Sums by span name, the way a person thinks of endpoints and operations. */
#ifndef REPORT_NAME_SUMS_H
#define REPORT_NAME_SUMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "report/hot_lines.h"
#include "report/report_view.h"
#include "report/wait_places.h"

struct name_sum {
	uint32_t name;	      /* string id */
	uint32_t service;     /* string id, 0 unknown */
	size_t spans, on_cpu; /* all; those with samples */
	uint64_t samples;
	uint64_t median, max;	    /* samples per span that has any */
	struct stack_frame hottest; /* the function with the most samples of all its spans */
	bool looked_at;		    /* else nobody knows what they waited */
	uint64_t wait_ns[PROFILE_WAIT_KINDS], seen_ns; /* as of a span */
	struct wait_place waits_most;
};

enum name_order {
	NAMES_BY_CPU, /* only those with samples */
	NAMES_BY_TIME,
};

/* Most CPU, or time seen, first; the caller frees `out`. -ENOMEM. */
int name_sums_find(const struct report_view *v, enum name_order order, struct name_sum **out,
		   size_t *count);
/* Never "". */
const char *name_sums_name(const struct report_view *v, const struct name_sum *sum);
/* Whether they are of more than one. */
bool name_sums_have_services(const struct name_sum *sums, size_t count);
/* The function most blamed among `rows`. -ENOMEM. */
int name_sums_hottest(const struct report_view *v, const uint32_t *rows, size_t row_count,
		      struct stack_frame *out);

#endif
