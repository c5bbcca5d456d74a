/* SPDX-License-Identifier: Apache-2.0 */
/* One HTTP connection to a receiver: posts one body at a time and says what became of it. */
#ifndef EXPORT_SENDER_HTTP_H
#define EXPORT_SENDER_HTTP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "export/sender_answer.h"

struct sender_http;
struct sender_settings;

enum sender_verdict {
	SENDER_DELIVERED,
	SENDER_RETRY,	/* not now: later perhaps */
	SENDER_REFUSED, /* never: drop it */
	SENDER_STOPPED, /* the deadline came first */
};

struct sender_outcome {
	enum sender_verdict verdict;
	bool reached;	   /* somebody answered over HTTP */
	bool not_http;	   /* somebody answered, but not in HTTP */
	bool server_asked; /* retry_after_ms comes from the server */
	uint64_t retry_after_ms;
	struct sender_answer answer; /* of SENDER_DELIVERED */
	char reason[320];	     /* of the others, clean, one line */
};

/* When to give a transfer up: CLOCK_MONOTONIC, UINT64_MAX never. Called on the posting thread. */
typedef uint64_t (*sender_deadline)(void *context);

/* `settings` is lent. Errors: -EINVAL (libcurl refused a setting, in `why`), -ENOMEM. */
int sender_http_open(const struct sender_settings *settings, sender_deadline deadline,
		     void *context, struct sender_http **out, char *why, size_t why_size);
void sender_http_close(struct sender_http *h);
/* Blocks until there is an outcome. `gzip`: the body is compressed. */
void sender_http_post(struct sender_http *h, const void *body, size_t size, bool gzip,
		      struct sender_outcome *out);
/* Sleeps until sender_http_wake or the time is over. */
void sender_http_wait(struct sender_http *h, uint64_t ms);
/* From any thread: ends sender_http_wait, makes sender_http_post look at its deadline. */
void sender_http_wake(struct sender_http *h);

#endif
