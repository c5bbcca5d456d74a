/* SPDX-License-Identifier: Apache-2.0 */
/* sender: the part that other threads call: opening, queueing, counting, closing. */
#include "export/sender.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/string_table.h"
#include "export/sender_transport.h"
#include "export/sender_thread.h"

#define QUEUE_BYTES_DEFAULT (8u << 20)

static const char *real_getenv(void *context, const char *name)
{
	return getenv(name);
}

static uint64_t get_deadline(void *context)
{
	struct sender *s = context;
	uint64_t deadline;

	pthread_mutex_lock(&s->lock);
	deadline = s->deadline_ns;
	pthread_mutex_unlock(&s->lock);
	return deadline;
}

void sender_note_dropped(struct sender *s, const struct sender_dropped *dropped, const char *reason)
{
	if (!dropped->requests)
		return;
	s->stats.samples_dropped += dropped->samples;
	if (reason != s->stats.last_error)
		string_clean(s->stats.last_error, sizeof(s->stats.last_error), reason,
			     strlen(reason));
}

/* What to say of requests that were dropped unsent: why sending failed, if it ever did. */
static const char *why_unsent(const struct sender *s, const char *otherwise)
{
	return s->stats.last_error[0] ? s->stats.last_error : otherwise;
}

/* Signals are the event loop's business. */
static int start_thread(struct sender *s)
{
	sigset_t all, old;
	int rc;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	rc = pthread_create(&s->thread, NULL, sender_thread_run, s);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	s->running = !rc;
	return -rc;
}

static int check_files(const struct sender_settings *settings, char *why, size_t why_size)
{
	const char *const files[] = {settings->ca_file, settings->client_key_file,
				     settings->client_certificate_file};
	struct stat status;
	char line[512];
	size_t i;

	for (i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		if (!files[i])
			continue;
		errno = 0;
		if (!stat(files[i], &status) && !access(files[i], R_OK) && S_ISREG(status.st_mode))
			continue;
		snprintf(line, sizeof(line), "OTLP: cannot read %s: %s", files[i],
			 errno ? strerror(errno) : "it is no regular file");
		string_clean(why, why_size, line, strlen(line));
		return -EINVAL;
	}
	return 0;
}

int sender_open(const struct sender_config *config, struct sender **out, char *why, size_t why_size)
{
	struct sender *s = calloc(1, sizeof(*s));
	int err;

	*out = NULL;
	why[0] = '\0';
	if (!s) {
		snprintf(why, why_size, "OTLP: out of memory");
		return -ENOMEM;
	}
	s->log = config->log;
	s->flush_timeout_ms = config->flush_timeout_ms;
	s->deadline_ns = UINT64_MAX;
	s->queue.bytes_max =
		config->queue_bytes_max ? config->queue_bytes_max : QUEUE_BYTES_DEFAULT;
	pthread_mutex_init(&s->lock, NULL);
	err = sender_settings_read(config->endpoint, real_getenv, NULL, &s->settings, why,
				   why_size);
	if (!err)
		err = check_files(&s->settings, why, why_size);
	if (!err)
		err = sender_transport_open(&s->settings, get_deadline, s, &s->transport, why,
					    why_size);
	if (err)
		goto out;
	s->outage.log = s->log;
	s->outage.url = s->settings.shown_url;
	if (s->settings.odd_port)
		sender_hint(s);
	if (s->settings.path_ignored)
		log_warn(s->log, "OTLP: %s: the endpoint's path is ignored: gRPC has none",
			 s->settings.shown_url);
	err = start_thread(s);
out:
	if (err && err != -ENOENT && !why[0])
		snprintf(why, why_size, "OTLP: cannot start sending: %s", strerror(-err));
	if (err) {
		sender_close(s, NULL);
		s = NULL;
	}
	*out = s;
	return err;
}

const char *sender_get_url(const struct sender *s)
{
	return s->settings.shown_url;
}

int sender_send(struct sender *s, struct buffer *request, uint64_t samples)
{
	struct sender_dropped dropped = {0};
	struct sender_request *new = calloc(1, sizeof(*new));
	int err = -ENOMEM;

	if (!new) {
		dropped = (struct sender_dropped){1, samples};
		free(request->data);
	} else {
		new->samples = samples;
		new->queued_ns = clock_monotonic_ns();
		new->body = request->data;
		new->size = request->size;
	}
	request->data = NULL;
	request->size = request->capacity = 0;
	pthread_mutex_lock(&s->lock);
	if (new)
		err = sender_queue_add(&s->queue, new, &dropped);
	sender_note_dropped(s, &dropped, why_unsent(s, "the queue is full"));
	pthread_mutex_unlock(&s->lock);
	sender_transport_wake(s->transport);
	return err;
}

static void stop_thread(struct sender *s)
{
	pthread_mutex_lock(&s->lock);
	s->closing = true;
	s->deadline_ns = clock_monotonic_ns() + s->flush_timeout_ms * NS_PER_MS;
	/* One more try at once, unless the receiver asked to be left alone. */
	if (!s->server_asked)
		s->not_before_ns = 0;
	pthread_mutex_unlock(&s->lock);
	sender_transport_wake(s->transport);
	pthread_join(s->thread, NULL);
}

void sender_close(struct sender *s, struct sender_stats *last)
{
	struct sender_dropped dropped = {0};

	if (last)
		memset(last, 0, sizeof(*last));
	if (!s)
		return;
	if (s->running)
		stop_thread(s);
	sender_queue_clear(&s->queue, &dropped);
	sender_note_dropped(s, &dropped, why_unsent(s, "not delivered before the end"));
	if (last)
		*last = s->stats;
	sender_transport_close(s->transport);
	sender_settings_close(&s->settings);
	pthread_mutex_destroy(&s->lock);
	free(s);
}
