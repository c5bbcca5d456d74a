/* SPDX-License-Identifier: Apache-2.0 */
/* Where ended windows go: to the sender, into the total that report and files show. */
#ifndef AGENT_PUBLISHER_H
#define AGENT_PUBLISHER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct identity;
struct log;
struct options;
struct profile;
struct publisher;

/*
 * Checks outputs and endpoint. Errors: -EINVAL usage (endpoint), others at run time; one line in
 * `why`.
 */
int publisher_open(const struct options *options, const struct log *log, struct publisher **out,
		   char *why, size_t why_size);
/* Takes an ended window. */
void publisher_add(struct publisher *p, struct profile *window);
/* More is known of who a process is: in the total it has but the one identity. */
void publisher_rename(struct publisher *p, const struct identity *was, const struct identity *is);
/* The total so far, lent; NULL when none is kept. */
const struct profile *publisher_get_total(const struct publisher *p);
/* Length of a window: short where a person watches, else as the options say. */
uint64_t publisher_get_window_ns(const struct publisher *p);
/* Writes files and prints the report (`report`: anything was profiled), delivers what is queued;
 * false when any of it failed. */
bool publisher_finish(struct publisher *p, bool report);
void publisher_close(struct publisher *p);

#endif
