/* SPDX-License-Identifier: Apache-2.0 */
/* Private to format: whom a sample of a pprof profile worked for, by its labels. */
#ifndef FORMAT_PPROF_LABELS_H
#define FORMAT_PPROF_LABELS_H

#include <stdbool.h>

#include "format/pprof_tables.h"
#include "spans/spans.h"

struct pprof_labels {
	struct span span; /* IDs and flag; all else is 0 */
	bool has_span, has_trace;
	bool malformed;	       /* a label that should be an ID is none */
	const char *span_name; /* lent, "" unknown */
	const char *service;   /* lent, NULL unknown; the same pointer for the same string */
};

/*
 * Keys: span_id and trace_id (hex; otel-profiling-go, Pyroscope, our own), profile_id (hex; what
 * Pyroscope called span_id before), "span id" (decimal; Datadog's tracers, which name no trace),
 * span_name; service (our own), service_name and service.name. -EBADMSG.
 */
int pprof_labels_read(const struct pprof_tables *t, const Pprof__Sample *m,
		      struct pprof_labels *out);

#endif
