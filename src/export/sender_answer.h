/* SPDX-License-Identifier: Apache-2.0 */
/* What a receiver's answer says: partial_success of a success, message and delay of a refusal. */
#ifndef EXPORT_SENDER_ANSWER_H
#define EXPORT_SENDER_ANSWER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SENDER_MESSAGE_MAX 192

struct sender_answer {
	bool has_partial_success; /* present and not empty: something to tell */
	uint64_t rejected_profiles;
	bool has_retry_info;		  /* google.rpc.RetryInfo is among a status's details */
	uint64_t retry_delay_ms;	  /* of it; 0: none given */
	char message[SENDER_MESSAGE_MAX]; /* clean, "" none */
};

/* Body of an ExportProfilesServiceResponse. -EBADMSG: not one. */
int sender_answer_read(const void *data, size_t size, struct sender_answer *out);
/* Message and RetryInfo of a google.rpc.Status. -EBADMSG: not one. */
int sender_answer_read_status(const void *data, size_t size, struct sender_answer *out);
/* The first line of a plain body (an error page's text), clean. */
void sender_answer_read_text(const void *data, size_t size, struct sender_answer *out);

#endif
