/* SPDX-License-Identifier: Apache-2.0 */
/* The sender's thread: takes the oldest request, posts it, waits when the receiver cannot. */
#include "export/sender_thread.h"

#include <string.h>
#include <sys/random.h>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/gzip.h"
#include "base/log.h"
#include "base/string_table.h"
#include "export/sender_outcome.h"
#include "export/sender_transport.h"

#define BACKOFF_FIRST_MS 1000
#define BACKOFF_MAX_MS	 30000
/* Between requests that piled up during an outage: many agents come back at the same moment. */
#define DRAIN_PACE_MS 200
/* Pyroscope takes nothing older. */
#define AGE_MAX_NS 3600000000000ull
/* Tries of a request that may be too large: others wait behind it. */
#define CUT_SHORT_MAX 4

/* Between a half and the whole of `ms`, so that agents do not come in step. */
static uint64_t jitter(uint64_t ms)
{
	uint32_t random = 0;

	if (getrandom(&random, sizeof(random), GRND_NONBLOCK) != sizeof(random))
		random = (uint32_t)clock_monotonic_ns();
	return ms - ms / 2 + (ms / 2) * (random % 1024) / 1024;
}

/* Compresses one waiting request, without the lock. False: all are. Called with the lock. */
static bool pack_one(struct sender *s)
{
	struct sender_request *request = sender_queue_unpacked(&s->queue);
	struct buffer packed;
	int err;

	if (!request)
		return false;
	if (s->settings.gzip) {
		request->busy = true;
		pthread_mutex_unlock(&s->lock);
		buffer_open(&packed, request->size); /* what gets no smaller goes as it is */
		err = gzip_pack(request->body, request->size, &packed);
		buffer_fit(&packed);
		pthread_mutex_lock(&s->lock);
		request->busy = false;
		if (err) {
			buffer_close(&packed);
		} else {
			sender_queue_resize(&s->queue, request, packed.data, packed.size);
			request->gzip = true;
		}
	}
	request->packed = true;
	return true;
}

static void keep_reason(struct sender *s, const char *reason)
{
	string_clean(s->stats.last_error, sizeof(s->stats.last_error), reason, strlen(reason));
}

static void settle_delivered(struct sender *s, const struct sender_request *request,
			     const struct sender_answer *answer, uint64_t now)
{
	s->stats.requests_ok++;
	s->stats.samples_sent += request->samples;
	s->stats.profiles_rejected += answer->rejected_profiles;
	if (answer->has_partial_success)
		keep_reason(s, answer->message);
	s->draining |= s->outage.failing;
	s->backoff_ms = 0;
	s->not_before_ns = s->draining && !s->closing ? now + jitter(DRAIN_PACE_MS) * NS_PER_MS : 0;
	s->server_asked = false;
	sender_queue_remove_oldest(&s->queue);
}

static void settle_refused(struct sender *s, const struct sender_request *request,
			   const char *reason)
{
	struct sender_dropped dropped = {1, request->samples};

	sender_note_dropped(s, &dropped, reason);
	sender_queue_remove_oldest(&s->queue);
}

static void settle_retry(struct sender *s, const struct sender_outcome *outcome, uint64_t now)
{
	uint64_t wait_ms;

	keep_reason(s, outcome->reason);
	s->backoff_ms = s->backoff_ms ? s->backoff_ms * 2 : BACKOFF_FIRST_MS;
	if (s->backoff_ms > BACKOFF_MAX_MS)
		s->backoff_ms = BACKOFF_MAX_MS;
	wait_ms = jitter(s->backoff_ms);
	if (outcome->server_asked)
		wait_ms = outcome->retry_after_ms + jitter(BACKOFF_FIRST_MS) / 4;
	s->server_asked = outcome->server_asked;
	s->not_before_ns = now + wait_ms * NS_PER_MS;
}

/*
 * Called with the lock. False: the thread ends, since the deadline came, or nobody is there and
 * the agent is ending: then waiting for the deadline would only keep a person waiting.
 */
static bool settle(struct sender *s, struct sender_outcome *outcome, uint64_t now)
{
	struct sender_request *request = s->queue.oldest;

	request->busy = false;
	request->cut_short += outcome->cut_short;
	if (outcome->verdict == SENDER_RETRY &&
	    (now - request->queued_ns > AGE_MAX_NS || request->cut_short == CUT_SHORT_MAX))
		outcome->verdict = SENDER_REFUSED;
	/* What worked before is the right port. */
	outcome->wrong_port &= !s->stats.requests_ok;
	switch (outcome->verdict) {
	case SENDER_DELIVERED:
		settle_delivered(s, request, &outcome->answer, now);
		return true;
	case SENDER_REFUSED:
		settle_refused(s, request, outcome->reason);
		return true;
	case SENDER_RETRY:
		settle_retry(s, outcome, now);
		return !s->closing || outcome->reached || !s->outage.failing;
	case SENDER_STOPPED:
		break;
	}
	if (!s->stats.last_error[0])
		keep_reason(s, outcome->reason);
	return false;
}

static const char *port_hint(const struct sender_settings *settings)
{
	if (!settings->grpc)
		return "is it a gRPC port? then set OTEL_EXPORTER_OTLP_PROTOCOL=grpc; "
		       "OTLP/HTTP is usually port 4318";
	if (settings->tls)
		return "is it an OTLP/HTTP port? then set OTEL_EXPORTER_OTLP_PROTOCOL="
		       "http/protobuf; gRPC is usually port 4317";
	return "is it an OTLP/HTTP port? then set OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf; "
	       "does it want TLS? then write https://; gRPC is usually port 4317";
}

void sender_hint(struct sender *s)
{
	if (!s->hinted)
		log_warn(s->log, "OTLP: %s: %s", s->settings.shown_url, port_hint(&s->settings));
	s->hinted = true;
}

/* Logs an outcome. Without the lock: a log's pipe may be full. */
static void tell(struct sender *s, const struct sender_outcome *outcome, uint64_t now,
		 uint64_t lost)
{
	const struct sender_answer *answer = &outcome->answer;

	if (outcome->verdict == SENDER_DELIVERED) {
		sender_outage_worked(&s->outage, now, lost);
		if (answer->has_partial_success)
			sender_outage_partial(&s->outage, now, answer->rejected_profiles,
					      answer->message);
	} else if (outcome->verdict != SENDER_STOPPED) {
		sender_outage_failed(&s->outage, now, outcome->reason,
				     outcome->verdict == SENDER_RETRY, lost);
	}
	if (outcome->wrong_port)
		sender_hint(s);
}

/* Posts the oldest request. Called with the lock, which is open meanwhile. False: stop. */
static bool send_oldest(struct sender *s)
{
	struct sender_request *request = s->queue.oldest;
	struct sender_outcome outcome;
	uint64_t now, lost;
	bool go_on;

	request->busy = true;
	pthread_mutex_unlock(&s->lock);
	sender_transport_post(s->transport, request->body, request->size, request->gzip, &outcome);
	now = clock_monotonic_ns();
	pthread_mutex_lock(&s->lock);
	go_on = settle(s, &outcome, now);
	lost = s->stats.samples_dropped;
	pthread_mutex_unlock(&s->lock);
	tell(s, &outcome, now, lost);
	pthread_mutex_lock(&s->lock);
	return go_on;
}

/* One step of the thread. Called with the lock. False: the thread ends. */
static bool step(struct sender *s)
{
	uint64_t now = clock_monotonic_ns(), wait_ms;

	if (s->closing && (now >= s->deadline_ns || !s->queue.oldest))
		return false;
	if (pack_one(s))
		return true;
	if (s->queue.oldest && s->not_before_ns <= now)
		return send_oldest(s);
	if (!s->queue.oldest) {
		s->draining = false;
		wait_ms = UINT64_MAX;
	} else {
		if (s->not_before_ns >= s->deadline_ns)
			return false;
		wait_ms = (s->not_before_ns - now) / NS_PER_MS + 1;
	}
	pthread_mutex_unlock(&s->lock);
	sender_transport_wait(s->transport, wait_ms);
	pthread_mutex_lock(&s->lock);
	return true;
}

void *sender_thread_run(void *context)
{
	struct sender *s = context;

	pthread_mutex_lock(&s->lock);
	while (step(s)) {
	}
	pthread_mutex_unlock(&s->lock);
	return NULL;
}
