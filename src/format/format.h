/* SPDX-License-Identifier: Apache-2.0 */
/* format: profile ⇄ bytes. Each encoder appends a whole document to a buffer. */
#ifndef FORMAT_FORMAT_H
#define FORMAT_FORMAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buffer;
struct profile;

struct format_otlp_options {
	/* Sample attributes span.name, its times, parent and outcome; the period of off-CPU time.
	 * Files only, never the wire by default. */
	bool span_names;
	const char *agent_version;
};

/* An ExportProfilesServiceRequest (proto 1.10 layout). 0, -ENOMEM, -EFBIG over the buffer's cap. */
int format_otlp(const struct profile *p, const struct format_otlp_options *options,
		struct buffer *out);
/*
 * The same in as many requests of at most `max_bytes` as it takes, none of them empty. `each` gets
 * the request, which it may take over (leaving the buffer empty), and the number of samples (the
 * sum of counts) in it; an error of its own ends the run. -EFBIG: a single sample was larger; the
 * others were given out.
 */
typedef int (*format_otlp_fn)(void *context, struct buffer *request, uint64_t samples);
int format_otlp_each(const struct profile *p, const struct format_otlp_options *options,
		     size_t max_bytes, format_otlp_fn each, void *context);
/* The largest file of requests that is read, and so written; a minute of a busy host is some MiB.
 * Also the largest pprof file that is read, before and after it is unpacked. */
#define FORMAT_OTLP_FILE_BYTES_MAX ((size_t)128 << 20)
/* Reads back such a request, as written by format_otlp with span names or by a Collector's file.
 * `*out` is the caller's to close. -EBADMSG, -ENOMEM with a sentence in `why`. */
int format_otlp_read(const void *data, size_t size, struct profile **out, char *why,
		     size_t why_size);
/* pprof, gzip-compressed; labels trace_id, span_id, span_name, and span_sampled where that is
 * false.
 */
int format_pprof(const struct profile *p, struct buffer *out);

/* What a pprof file could not say as a profile has it, counted. */
struct format_pprof_notes {
	uint64_t samples;	 /* in the file */
	uint64_t malformed_ids;	 /* of them with a label that should be an ID and is none */
	uint64_t without_trace;	 /* of them in a span whose trace is unknown: it is never linked */
	uint64_t types_left_out; /* sample types beside CPU and off-CPU time */
};
/* Whether it looks like one, compressed or not, whole or cut off. */
bool format_is_pprof(const void *data, size_t size);
/*
 * Reads anybody's pprof file of CPU time, compressed or not; `off_cpu` values become waits. Of span
 * and service it knows what labels say (format/pprof_labels.h), else the program's name stands for
 * the service. `*out` is the caller's to close. -EBADMSG, -ENOMEM with a sentence in `why`.
 */
int format_pprof_read(const void *data, size_t size, struct profile **out,
		      struct format_pprof_notes *notes, char *why, size_t why_size);
/* Brendan Gregg's folded stacks, root first, span name and service as the first frames. */
int format_folded(const struct profile *p, struct buffer *out);

#endif
