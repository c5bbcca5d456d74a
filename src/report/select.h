/* SPDX-License-Identifier: Apache-2.0 */
/* A profile with only the samples that a filter leaves, to be written to a file of its own. */
#ifndef REPORT_SELECT_H
#define REPORT_SELECT_H

struct profile;
struct report_options;

/*
 * Copies the samples of `from` that match trace_id, span_id, span_name and service of `filter`
 * (all that are not NULL), with their spans, resources and frames. `*out` is the caller's to close;
 * it may be without samples. -ENOMEM.
 */
int report_select(const struct profile *from, const struct report_options *filter,
		  struct profile **out);

#endif
