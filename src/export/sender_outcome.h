/* SPDX-License-Identifier: Apache-2.0 */
/* What became of a request, and the part of the verdict that no protocol decides. */
#ifndef EXPORT_SENDER_OUTCOME_H
#define EXPORT_SENDER_OUTCOME_H

#include <curl/curl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "export/sender_answer.h"

/* What libcurl reports of a transfer. All pointers are lent. */
struct sender_result {
	CURLcode rc;
	const char *error; /* libcurl's own words, "" none */
	bool tls;	   /* the connection was to use it */
	long status;	   /* HTTP, 0 none */
	const char *content_type;
	uint64_t retry_after_s; /* 0 not given */
	const char *fields;	/* header and trailer lines that the protocol keeps */
	size_t fields_size;
	const void *body;
	size_t body_size;
};

enum sender_verdict {
	SENDER_DELIVERED,
	SENDER_RETRY,	/* not now: later perhaps */
	SENDER_REFUSED, /* never: drop it */
	SENDER_STOPPED, /* the deadline came first */
};

struct sender_outcome {
	enum sender_verdict verdict;
	bool reached;	   /* somebody answered over HTTP */
	bool wrong_port;   /* another protocol seems to be spoken there */
	bool cut_short;	   /* with SENDER_RETRY: may be refused for its size, so not for ever */
	bool server_asked; /* retry_after_ms comes from the server */
	uint64_t retry_after_ms;
	struct sender_answer answer; /* of SENDER_DELIVERED */
	char reason[384];	     /* of the others, clean, one line */
};

bool sender_outcome_is_type(const struct sender_result *result, const char *wanted);
/* Takes a receiver's wish to be left alone for so long; what is too long is not believed. */
void sender_outcome_wait(struct sender_outcome *out, uint64_t ms);
/* A transfer that ended without an answer: the verdict by libcurl's code, the reason its words. */
void sender_outcome_failed(const struct sender_result *result, struct sender_outcome *out);
/* An HTTP status that is no success. */
void sender_outcome_status(const struct sender_result *result, struct sender_outcome *out);

#endif
