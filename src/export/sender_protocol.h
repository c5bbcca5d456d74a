/* SPDX-License-Identifier: Apache-2.0 */
/* What the kinds of OTLP over libcurl differ in; sender_transport does the rest for them all. */
#ifndef EXPORT_SENDER_PROTOCOL_H
#define EXPORT_SENDER_PROTOCOL_H

#include <curl/curl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sender_outcome;
struct sender_result;
struct sender_settings;

struct sender_protocol {
	/* Options beyond those of every transport. -EINVAL: libcurl cannot; one line in `why`. */
	int (*set_options)(CURL *easy, const struct sender_settings *settings, char *why,
			   size_t why_size);
	/* Header lines beside the settings' own, for a body that is compressed or not. -ENOMEM. */
	int (*add_headers)(struct curl_slist **list, const struct sender_settings *settings,
			   bool gzip);
	/* Bytes in front of each body, and what they say of it; NULL with prefix_size 0. */
	size_t prefix_size;
	void (*write_prefix)(uint8_t *to, size_t body_size, bool gzip);
	/* Lines of the answer's header and trailer that begin so are kept; NULL: none. */
	const char *kept_fields;
	/* The verdict on a transfer that came to its end. `out` is all zero. */
	void (*judge)(const struct sender_result *result, struct sender_outcome *out);
};

extern const struct sender_protocol sender_protocol_http;
extern const struct sender_protocol sender_protocol_grpc;

/* Appends a copy of the line. -ENOMEM: the list is as before. */
int sender_protocol_add(struct curl_slist **list, const char *line);

#endif
