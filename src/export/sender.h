/* SPDX-License-Identifier: Apache-2.0 */
/* Sends encoded OTLP requests over HTTP or gRPC on a thread of its own: bounded queue, retry,
 * counters. */
#ifndef EXPORT_SENDER_H
#define EXPORT_SENDER_H

#include <stddef.h>
#include <stdint.h>

struct buffer;
struct log;
struct sender;

struct sender_config {
	const struct log *log; /* lent */
	const char *
		endpoint; /* base URL, for gRPC host:port too; NULL: take it from the environment */
	size_t queue_bytes_max;
	uint64_t flush_timeout_ms;
};

struct sender_stats {
	uint64_t requests_ok;
	uint64_t samples_sent;
	uint64_t samples_dropped;
	uint64_t profiles_rejected; /* by a partial_success; their requests count as ok */
	char last_error[256];	    /* of the last failure, also one that a retry made good */
};

/*
 * -EINVAL: bad URL, header or variable; -ENOENT: neither flag nor environment names an endpoint;
 * others: no memory or no thread. One line in `why`, but for -ENOENT. All
 * OTEL_EXPORTER_OTLP_[PROFILES_]* variables are honoured.
 */
int sender_open(const struct sender_config *config, struct sender **out, char *why,
		size_t why_size);
/* URL requests go to, without credentials, for the log. Lent. */
const char *sender_get_url(const struct sender *s);
/* Takes the buffer's bytes (leaves it empty). At the cap the oldest request is dropped, counted. */
int sender_send(struct sender *s, struct buffer *request, uint64_t samples);
/* Tries to deliver what is queued, waits at most flush_timeout_ms, stops the thread. */
void sender_close(struct sender *s, struct sender_stats *last);

#endif
