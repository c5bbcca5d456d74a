/* SPDX-License-Identifier: Apache-2.0 */
/* A linked list: few are held, and not for long. */
#include "agent/held_samples.h"

#include <errno.h>
#include <spanprof/record.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

struct held {
	struct held *next;
	struct sample_record sample; /* its words follow */
};

struct held_samples {
	struct held *first, **end;
	uint64_t bytes, bytes_max;
};

int held_samples_open(uint64_t bytes_max, struct held_samples **out)
{
	*out = calloc(1, sizeof(**out));
	if (!*out)
		return -ENOMEM;
	(*out)->bytes_max = bytes_max;
	(*out)->end = &(*out)->first;
	return 0;
}

void held_samples_close(struct held_samples *h)
{
	if (!h)
		return;
	held_samples_forget(h);
	free(h);
}

uint64_t held_samples_forget(struct held_samples *h)
{
	uint64_t count = 0;

	for (struct held *at = h->first, *next; at; at = next, count++) {
		next = at->next;
		free(at);
	}
	h->first = NULL;
	h->end = &h->first;
	h->bytes = 0;
	return count;
}

int held_samples_add(struct held_samples *h, const struct sample_record *sample)
{
	uint64_t size = sample->header.size_bytes;
	struct held *held;

	if (size < sizeof(*sample))
		return -EINVAL;
	if (h->bytes + size > h->bytes_max)
		return -ENOSPC;
	held = malloc(offsetof(struct held, sample) + size);
	if (!held)
		return -ENOMEM;
	held->next = NULL;
	memcpy(&held->sample, sample, size);
	*h->end = held;
	h->end = &held->next;
	h->bytes += size;
	return 0;
}

uint64_t held_samples_take(struct held_samples *h, uint32_t pid,
			   void (*each)(void *context, const struct sample_record *sample),
			   void *context)
{
	struct held **link = &h->first;
	uint64_t count = 0;

	while (*link) {
		struct held *at = *link;

		if (at->sample.pid != pid) {
			link = &at->next;
			continue;
		}
		*link = at->next;
		if (h->end == &at->next)
			h->end = link;
		h->bytes -= at->sample.header.size_bytes;
		if (each)
			each(context, &at->sample);
		count++;
		free(at);
	}
	return count;
}
