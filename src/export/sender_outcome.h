/* SPDX-License-Identifier: Apache-2.0 */
/* Judges a finished transfer: delivered, to be tried again, or never to be; and says why. */
#ifndef EXPORT_SENDER_OUTCOME_H
#define EXPORT_SENDER_OUTCOME_H

#include <curl/curl.h>
#include <stddef.h>
#include <stdint.h>

#include "export/sender_http.h"

/* What libcurl reports of a transfer. All pointers are lent. */
struct sender_result {
	CURLcode rc;
	const char *error; /* libcurl's own words, "" none */
	long status;	   /* HTTP, 0 none */
	const char *content_type;
	uint64_t retry_after_s; /* 0 not given */
	const void *body;
	size_t body_size;
};

void sender_outcome_of(const struct sender_result *result, struct sender_outcome *out);

#endif
