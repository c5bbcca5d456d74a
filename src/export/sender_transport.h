/* SPDX-License-Identifier: Apache-2.0 */
/* One connection to a receiver: posts one body at a time and says what became of it. */
#ifndef EXPORT_SENDER_TRANSPORT_H
#define EXPORT_SENDER_TRANSPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sender_outcome;
struct sender_settings;
struct sender_transport;

/* When to give a transfer up: CLOCK_MONOTONIC, UINT64_MAX never. Called on the posting thread. */
typedef uint64_t (*sender_deadline)(void *context);

/*
 * `settings` is lent; they choose the protocol. Errors: -EINVAL (libcurl refused a setting, in
 * `why`), -ENOMEM.
 */
int sender_transport_open(const struct sender_settings *settings, sender_deadline deadline,
			  void *context, struct sender_transport **out, char *why, size_t why_size);
void sender_transport_close(struct sender_transport *t);
/* Blocks until there is an outcome. `gzip`: the body is compressed. */
void sender_transport_post(struct sender_transport *t, const void *body, size_t size, bool gzip,
			   struct sender_outcome *out);
/* Sleeps until sender_transport_wake or the time is over. */
void sender_transport_wait(struct sender_transport *t, uint64_t ms);
/* From any thread: ends sender_transport_wait, makes sender_transport_post look at its deadline. */
void sender_transport_wake(struct sender_transport *t);

#endif
