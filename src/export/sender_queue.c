/* SPDX-License-Identifier: Apache-2.0 */
/* A list with a byte count; short (tens of requests), so it is simply walked. */
#include "export/sender_queue.h"

#include <errno.h>
#include <stdlib.h>

static void release(struct sender_request *request)
{
	free(request->body);
	free(request);
}

static void count(struct sender_dropped *dropped, const struct sender_request *request)
{
	dropped->requests++;
	dropped->samples += request->samples;
}

/* Unlinks and frees the oldest request that nobody works on. */
static bool drop_oldest(struct sender_queue *q, struct sender_dropped *dropped)
{
	struct sender_request *before = NULL, *at = q->oldest;

	while (at && at->busy) {
		before = at;
		at = at->next;
	}
	if (!at)
		return false;
	if (before)
		before->next = at->next;
	else
		q->oldest = at->next;
	if (q->newest == at)
		q->newest = before;
	q->bytes -= at->size;
	count(dropped, at);
	release(at);
	return true;
}

int sender_queue_add(struct sender_queue *q, struct sender_request *request,
		     struct sender_dropped *dropped)
{
	bool fits = request->size <= q->bytes_max;

	while (fits && q->bytes + request->size > q->bytes_max)
		fits = drop_oldest(q, dropped);
	if (!fits) {
		count(dropped, request);
		release(request);
		return -EFBIG;
	}
	request->next = NULL;
	if (q->newest)
		q->newest->next = request;
	else
		q->oldest = request;
	q->newest = request;
	q->bytes += request->size;
	return 0;
}

struct sender_request *sender_queue_unpacked(const struct sender_queue *q)
{
	struct sender_request *at = q->oldest;

	while (at && at->packed)
		at = at->next;
	return at;
}

void sender_queue_remove_oldest(struct sender_queue *q)
{
	struct sender_request *gone = q->oldest;

	q->oldest = gone->next;
	if (!q->oldest)
		q->newest = NULL;
	q->bytes -= gone->size;
	release(gone);
}

void sender_queue_resize(struct sender_queue *q, struct sender_request *request, uint8_t *body,
			 size_t size)
{
	q->bytes = q->bytes - request->size + size;
	free(request->body);
	request->body = body;
	request->size = size;
}

void sender_queue_clear(struct sender_queue *q, struct sender_dropped *dropped)
{
	while (q->oldest) {
		count(dropped, q->oldest);
		sender_queue_remove_oldest(q);
	}
}
