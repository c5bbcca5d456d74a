/* SPDX-License-Identifier: Apache-2.0 */
/* Profiles on their way to an OTLP receiver: cut into requests, sent, and told how it went. */
#ifndef AGENT_DELIVERY_H
#define AGENT_DELIVERY_H

#include <stdbool.h>
#include <stddef.h>

struct delivery;
struct profile;
struct sender_config;

/*
 * Says where profiles go. -EINVAL usage, others at run time, one line in `why`; -ENOENT without
 * one: neither flag nor environment names an endpoint.
 */
int delivery_open(const struct sender_config *config, struct delivery **out, char *why,
		  size_t why_size);
/* Queues a profile; an error is logged. */
int delivery_add(struct delivery *d, const struct profile *p);
/* Delivers what is queued and says how much that was; false when any of it was not. */
bool delivery_finish(struct delivery *d);
/* Without a word; NULL is fine. */
void delivery_close(struct delivery *d);

#endif
