/* SPDX-License-Identifier: Apache-2.0 */
/* See delivery.h. */
#include "agent/delivery.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "export/sender.h"
#include "format/format.h"

#define REQUEST_BYTES_MAX (3584 << 10) /* 3.5 MiB: receivers refuse 4 */

struct delivery {
	const struct log *log;
	struct sender *sender;
};

int delivery_open(const struct sender_config *config, struct delivery **out, char *why,
		  size_t why_size)
{
	struct delivery *d = calloc(1, sizeof(*d));
	int error;

	*out = NULL;
	if (!d) {
		snprintf(why, why_size, "out of memory");
		return -ENOMEM;
	}
	d->log = config->log;
	error = sender_open(config, &d->sender, why, why_size);
	if (error) {
		free(d);
		return error;
	}
	log_info(d->log, "sending profiles to %s%s", sender_get_url(d->sender),
		 config->endpoint ? "" : " (from the environment)");
	*out = d;
	return 0;
}

static int queue_request(void *context, struct buffer *request, uint64_t samples)
{
	struct delivery *d = context;

	return sender_send(d->sender, request, samples);
}

int delivery_add(struct delivery *d, const struct profile *p)
{
	struct format_otlp_options options = {.agent_version = SPANPROF_VERSION};
	int error = format_otlp_each(p, &options, REQUEST_BYTES_MAX, queue_request, d);

	if (error)
		log_error(d->log, "a profile could not be encoded: %s", strerror(-error));
	return error;
}

bool delivery_finish(struct delivery *d)
{
	struct sender_stats stats = {0};

	sender_close(d->sender, &stats);
	d->sender = NULL;
	if (stats.profiles_rejected)
		log_error(d->log, "the receiver rejected %llu profiles: %s",
			  (unsigned long long)stats.profiles_rejected, stats.last_error);
	if (!stats.samples_dropped) {
		log_info(d->log, "delivered %llu samples in %llu request%s",
			 (unsigned long long)stats.samples_sent,
			 (unsigned long long)stats.requests_ok, stats.requests_ok == 1 ? "" : "s");
		return !stats.profiles_rejected;
	}
	log_error(d->log, "%llu of %llu samples were not delivered: %s",
		  (unsigned long long)stats.samples_dropped,
		  (unsigned long long)(stats.samples_dropped + stats.samples_sent),
		  stats.last_error);
	return false;
}

void delivery_close(struct delivery *d)
{
	if (!d)
		return;
	sender_close(d->sender, NULL);
	free(d);
}
