/* SPDX-License-Identifier: Apache-2.0 */
/* The samples a report speaks of: filtered, grouped by span, with sums. */
#ifndef REPORT_REPORT_VIEW_H
#define REPORT_REPORT_VIEW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "profile/profile.h"
#include "report/report.h"

struct span;
struct spans;
struct string_table;

/*
 * One span with its samples, chosen[first … first + rows), and waits, waits[first_wait …
 * first_wait + wait_rows).
 */
struct span_sum {
	uint32_t span;	   /* handle */
	uint32_t name;	   /* string id */
	uint32_t resource; /* that it was seen in */
	uint32_t service;  /* string id, 0 unknown */
	size_t first, rows, first_wait, wait_rows;
	uint64_t samples;
	uint64_t wait_ns[PROFILE_WAIT_KINDS], off_cpu_ns; /* by kind; of all */
	uint64_t seen_ns;				  /* on a CPU and off */
};

struct report_view {
	struct profile_view profile;
	const struct string_table *strings;
	const struct spans *spans;
	uint32_t *services; /* string id of its name, per resource */
	uint32_t *chosen;   /* rows of profile.samples, by span: those without a span first */
	size_t chosen_count;
	size_t outside_rows; /* of chosen, without a span */
	uint64_t all_samples, chosen_samples, outside_samples;
	uint32_t *waits; /* rows of profile.waits, by span: those without a span first */
	size_t wait_count;
	size_t outside_waits;			       /* of waits, without a span */
	uint64_t off_cpu_ns;			       /* inside spans */
	bool *looked_at;			       /* per resource: what waits in it was seen */
	bool has_waits;				       /* that is so for any */
	struct span_sum *sums;			       /* most time seen first */
	size_t sum_count, on_cpu_count, off_cpu_count; /* of spans; of those with samples, waits */
	bool filtered;
};

/* -ENOMEM. The profile is lent until close. */
int report_view_open(const struct profile *p, const struct report_options *options,
		     struct report_view *out);
void report_view_close(struct report_view *v);

const char *report_view_string(const struct report_view *v, uint32_t id);
/* CPU time of that many samples, ns. */
uint64_t report_view_ns(const struct report_view *v, uint64_t samples);

/*
 * How long the span took, or has been open where it still was when the profile ended. ns; 0
 * unknown.
 */
uint64_t report_view_took_ns(const struct report_view *v, const struct span *span);

#endif
