/* SPDX-License-Identifier: Apache-2.0 */
/* report: what a person sees on the terminal. */
#ifndef REPORT_REPORT_H
#define REPORT_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buffer;
struct profile;

struct report_options {
	bool color;
	unsigned columns;     /* of the terminal; 0: plain pipe, 100 wide */
	size_t spans_max;     /* spans listed (10) */
	size_t lines_max;     /* hottest lines under each (5) */
	const char *trace_id; /* filters, hex (the beginning suffices) or NULL */
	const char *span_id;
	const char *span_name;
	const char *service;
};

/*
 * The closing report: totals; then the spans with the most CPU or, where waits are known, time
 * seen, each with name, service, trace and span ID, its time, and under it the hottest lines with
 * their call path; the same by name; then CPU outside spans. Appends UTF-8 text.
 */
int report_terminal(const struct profile *p, const struct report_options *options,
		    struct buffer *out);
/* The live table by span name: spans sampled, samples, CPU ms, hottest function; `rows` lines. */
int report_live(const struct profile *p, const struct report_options *options, size_t rows,
		struct buffer *out);

#endif
