/* SPDX-License-Identifier: Apache-2.0 */
/* Posts over libcurl's multi interface, which is the one that another thread can wake. */
#include "export/sender_http.h"

#include <curl/curl.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "export/sender_outcome.h"
#include "export/sender_settings.h"

#define CONNECT_TIMEOUT_MS_MAX 5000
#define POLL_MS_MAX	       1000
/* An answer is a few bytes; an endless one is cut off here. */
#define ANSWER_KEPT_BYTES     16384
#define ANSWER_ACCEPTED_BYTES 1048576

struct sender_http {
	CURLM *multi;
	CURL *easy;
	struct curl_slist *headers;	 /* for a plain body */
	struct curl_slist *gzip_headers; /* for a compressed one */
	sender_deadline deadline;
	void *context;
	size_t answer_size, answer_seen;
	bool global_ready;
	char answer[ANSWER_KEPT_BYTES];
	char error[CURL_ERROR_SIZE];
};

static size_t keep_answer(char *data, size_t unit, size_t count, void *context)
{
	struct sender_http *h = context;
	size_t size = unit * count, room = sizeof(h->answer) - h->answer_size;

	h->answer_seen += size;
	if (h->answer_seen > ANSWER_ACCEPTED_BYTES)
		return 0; /* ends the transfer with CURLE_WRITE_ERROR */
	if (room > size)
		room = size;
	memcpy(h->answer + h->answer_size, data, room);
	h->answer_size += room;
	return size;
}

static int add_line(struct curl_slist **list, const char *line)
{
	struct curl_slist *longer = curl_slist_append(*list, line);

	if (!longer)
		return -ENOMEM;
	*list = longer;
	return 0;
}

static bool is_user_agent(const char *header)
{
	return !strncasecmp(header, "user-agent:", 11);
}

static int make_headers(const struct sender_settings *settings, bool gzip, struct curl_slist **out)
{
	bool named = false;
	size_t i;
	int err;

	err = add_line(out, "Content-Type: application/x-protobuf");
	if (!err)
		err = add_line(out, "OTLP-Profiles-Development-Version: 1");
	if (!err)
		err = add_line(out, "Expect:"); /* no 100-continue: one round trip less */
	if (!err && gzip)
		err = add_line(out, "Content-Encoding: gzip");
	for (i = 0; !err && i < settings->header_count; i++) {
		named |= is_user_agent(settings->headers[i]);
		err = add_line(out, settings->headers[i]);
	}
	if (!err && !named)
		err = add_line(out, "User-Agent: spanprof/" SPANPROF_VERSION);
	return err;
}

static CURLcode set_transport(CURL *easy, const struct sender_settings *settings)
{
	long timeout = (long)settings->timeout_ms;
	long connect = timeout < CONNECT_TIMEOUT_MS_MAX ? timeout : CONNECT_TIMEOUT_MS_MAX;
	CURLcode rc = CURLE_OK;

	rc |= curl_easy_setopt(easy, CURLOPT_URL, settings->url);
	rc |= curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
	rc |= curl_easy_setopt(easy, CURLOPT_HTTP_VERSION,
			       settings->tls ? CURL_HTTP_VERSION_2TLS : CURL_HTTP_VERSION_1_1);
	rc |= curl_easy_setopt(easy, CURLOPT_FOLLOWLOCATION, 0L);
	rc |= curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
	/* Without this, http_proxy of whoever started the agent would take the profiles. */
	rc |= curl_easy_setopt(easy, CURLOPT_PROXY, "");
	rc |= curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, timeout);
	rc |= curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, connect);
	rc |= curl_easy_setopt(easy, CURLOPT_TCP_KEEPALIVE, 1L);
	/* Do not wait for a name server that hangs when the agent ends. */
	rc |= curl_easy_setopt(easy, CURLOPT_QUICK_EXIT, 1L);
	return rc;
}

static CURLcode set_secrets(CURL *easy, const struct sender_settings *settings)
{
	CURLcode rc = CURLE_OK;

	if (settings->user || settings->password) {
		rc |= curl_easy_setopt(easy, CURLOPT_HTTPAUTH, CURLAUTH_BASIC);
		rc |= curl_easy_setopt(easy, CURLOPT_USERNAME,
				       settings->user ? settings->user : "");
		rc |= curl_easy_setopt(easy, CURLOPT_PASSWORD,
				       settings->password ? settings->password : "");
	}
	if (settings->ca_file)
		rc |= curl_easy_setopt(easy, CURLOPT_CAINFO, settings->ca_file);
	if (settings->client_key_file)
		rc |= curl_easy_setopt(easy, CURLOPT_SSLKEY, settings->client_key_file);
	if (settings->client_certificate_file)
		rc |= curl_easy_setopt(easy, CURLOPT_SSLCERT, settings->client_certificate_file);
	return rc;
}

static int set_all(struct sender_http *h, const struct sender_settings *settings, char *why,
		   size_t why_size)
{
	CURLcode rc = CURLE_OK;

	rc |= set_transport(h->easy, settings);
	rc |= set_secrets(h->easy, settings);
	rc |= curl_easy_setopt(h->easy, CURLOPT_ERRORBUFFER, h->error);
	rc |= curl_easy_setopt(h->easy, CURLOPT_WRITEFUNCTION, keep_answer);
	rc |= curl_easy_setopt(h->easy, CURLOPT_WRITEDATA, h);
	rc |= curl_easy_setopt(h->easy, CURLOPT_POST, 1L);
	if (!rc)
		return 0;
	snprintf(why, why_size, "OTLP: libcurl refuses a setting (no TLS in this libcurl?)");
	return -EINVAL;
}

int sender_http_open(const struct sender_settings *settings, sender_deadline deadline,
		     void *context, struct sender_http **out, char *why, size_t why_size)
{
	struct sender_http *h = calloc(1, sizeof(*h));
	int err = -ENOMEM;

	*out = NULL;
	if (!h)
		return -ENOMEM;
	h->deadline = deadline;
	h->context = context;
	if (curl_global_init(CURL_GLOBAL_DEFAULT))
		goto out;
	h->global_ready = true;
	h->multi = curl_multi_init();
	h->easy = curl_easy_init();
	if (!h->multi || !h->easy)
		goto out;
	err = make_headers(settings, false, &h->headers);
	if (!err)
		err = make_headers(settings, true, &h->gzip_headers);
	if (!err)
		err = set_all(h, settings, why, why_size);
out:
	if (err) {
		sender_http_close(h);
		h = NULL;
	}
	*out = h;
	return err;
}

void sender_http_close(struct sender_http *h)
{
	if (!h)
		return;
	if (h->easy)
		curl_easy_cleanup(h->easy);
	if (h->multi)
		curl_multi_cleanup(h->multi);
	curl_slist_free_all(h->headers);
	curl_slist_free_all(h->gzip_headers);
	if (h->global_ready)
		curl_global_cleanup();
	free(h);
}

static bool is_late(const struct sender_http *h, uint64_t *left_ms)
{
	uint64_t deadline = h->deadline(h->context), now = clock_monotonic_ns();

	*left_ms = deadline > now ? (deadline - now) / 1000000 + 1 : 0;
	return deadline <= now;
}

/* Runs the transfer to its end; false when the deadline came first. */
static bool transfer(struct sender_http *h, CURLcode *rc)
{
	int running = 1, queued;
	uint64_t left_ms;
	CURLMsg *message;

	*rc = CURLE_FAILED_INIT;
	while (running) {
		if (is_late(h, &left_ms))
			return false;
		if (curl_multi_perform(h->multi, &running))
			return true;
		if (running)
			curl_multi_poll(h->multi, NULL, 0,
					left_ms < POLL_MS_MAX ? (int)left_ms : POLL_MS_MAX, NULL);
	}
	while ((message = curl_multi_info_read(h->multi, &queued))) {
		if (message->msg == CURLMSG_DONE)
			*rc = message->data.result;
	}
	return true;
}

static void fill_result(struct sender_http *h, CURLcode rc, struct sender_result *result)
{
	curl_off_t retry_after = 0;

	*result = (struct sender_result){
		.rc = rc, .error = h->error, .body = h->answer, .body_size = h->answer_size};
	curl_easy_getinfo(h->easy, CURLINFO_RESPONSE_CODE, &result->status);
	curl_easy_getinfo(h->easy, CURLINFO_CONTENT_TYPE, &result->content_type);
	curl_easy_getinfo(h->easy, CURLINFO_RETRY_AFTER, &retry_after);
	result->retry_after_s = retry_after > 0 ? (uint64_t)retry_after : 0;
}

void sender_http_post(struct sender_http *h, const void *body, size_t size, bool gzip,
		      struct sender_outcome *out)
{
	struct sender_result result;
	CURLcode rc;

	memset(out, 0, sizeof(*out));
	h->answer_size = h->answer_seen = 0;
	h->error[0] = '\0';
	curl_easy_setopt(h->easy, CURLOPT_HTTPHEADER, gzip ? h->gzip_headers : h->headers);
	curl_easy_setopt(h->easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)size);
	curl_easy_setopt(h->easy, CURLOPT_POSTFIELDS, body);
	if (curl_multi_add_handle(h->multi, h->easy)) {
		out->verdict = SENDER_RETRY;
		snprintf(out->reason, sizeof(out->reason), "libcurl: no memory for the transfer");
		return;
	}
	if (transfer(h, &rc)) {
		fill_result(h, rc, &result);
		sender_outcome_of(&result, out);
	} else {
		out->verdict = SENDER_STOPPED;
		snprintf(out->reason, sizeof(out->reason), "no answer before the end");
	}
	curl_multi_remove_handle(h->multi, h->easy);
}

void sender_http_wait(struct sender_http *h, uint64_t ms)
{
	curl_multi_poll(h->multi, NULL, 0, ms < 3600000 ? (int)ms : 3600000, NULL);
}

void sender_http_wake(struct sender_http *h)
{
	curl_multi_wakeup(h->multi);
}
