/* SPDX-License-Identifier: Apache-2.0 */
/* The sender's inside, shared by its two files: what the thread needs and what is under the lock.
 */
#ifndef EXPORT_SENDER_THREAD_H
#define EXPORT_SENDER_THREAD_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "export/sender.h"
#include "export/sender_outage.h"
#include "export/sender_queue.h"
#include "export/sender_settings.h"

#define NS_PER_MS 1000000ull

struct sender_transport;

struct sender {
	struct sender_settings settings;
	struct sender_transport *transport;
	const struct log *log;
	uint64_t flush_timeout_ms;
	pthread_t thread;
	bool running;

	pthread_mutex_t lock; /* guards what follows; never held while something may block */
	struct sender_queue queue;
	struct sender_stats stats;
	uint64_t deadline_ns; /* UINT64_MAX until sender_close */
	uint64_t not_before_ns;
	bool server_asked; /* not_before_ns was the receiver's wish */
	bool closing;

	/* Of the thread alone. */
	struct sender_outage outage;
	uint64_t backoff_ms;
	bool draining; /* after an outage, until the queue is empty */
	bool hinted;
};

/* Counts what was dropped and keeps the reason. Called with the lock. */
void sender_note_dropped(struct sender *s, const struct sender_dropped *dropped,
			 const char *reason);
/* Says, once, that the port may be that of the other protocol. */
void sender_hint(struct sender *s);
/* The thread's main function; the context is the sender. */
void *sender_thread_run(void *context);

#endif
