/* SPDX-License-Identifier: Apache-2.0 */
/* Requests that wait to be sent, bounded in bytes, oldest first. The caller holds a lock. */
#ifndef EXPORT_SENDER_QUEUE_H
#define EXPORT_SENDER_QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sender_request {
	struct sender_request *next;
	uint8_t *body; /* owned */
	size_t size;
	uint64_t samples;
	uint64_t queued_ns; /* CLOCK_MONOTONIC */
	bool packed;	    /* compression was tried */
	bool gzip;	    /* the body is compressed */
	unsigned cut_short; /* tries that the receiver ended before all was sent */
	bool busy;	    /* the sending thread works on it: do not drop, do not free */
};

struct sender_queue {
	struct sender_request *oldest, *newest;
	size_t bytes, bytes_max;
};

/* What was dropped to make room. */
struct sender_dropped {
	uint64_t requests;
	uint64_t samples;
};

/*
 * Takes `request` over. Drops the oldest ones that are not busy until it fits and adds them up in
 * `dropped`; -EFBIG when it cannot fit: then it is freed and counted there too.
 */
int sender_queue_add(struct sender_queue *q, struct sender_request *request,
		     struct sender_dropped *dropped);
/* First one that is not packed yet, else NULL. */
struct sender_request *sender_queue_unpacked(const struct sender_queue *q);
/* Frees the oldest. */
void sender_queue_remove_oldest(struct sender_queue *q);
/* The request's body was replaced by one of `size` bytes. */
void sender_queue_resize(struct sender_queue *q, struct sender_request *request, uint8_t *body,
			 size_t size);
void sender_queue_clear(struct sender_queue *q, struct sender_dropped *dropped);

#endif
