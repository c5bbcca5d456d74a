/* SPDX-License-Identifier: Apache-2.0 */
/* The sender of a static build (kernel matrix), which has no libcurl: it opens for nobody. */
#include "export/sender.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* A variable of the environment is no wish of the person's here: only the flag is refused. */
int sender_open(const struct sender_config *config, struct sender **out, char *why, size_t why_size)
{
	*out = NULL;
	if (!config->endpoint)
		return -ENOENT;
	snprintf(why, why_size, "--otlp-endpoint: this is a static build without OTLP sending");
	return -EINVAL;
}

const char *sender_get_url(const struct sender *s)
{
	return "";
}

int sender_send(struct sender *s, struct buffer *request, uint64_t samples)
{
	return -ENOTSUP;
}

void sender_close(struct sender *s, struct sender_stats *last)
{
	if (last)
		memset(last, 0, sizeof(*last));
}

void sender_get_stats(struct sender *s, struct sender_stats *out)
{
	memset(out, 0, sizeof(*out));
}
