/* SPDX-License-Identifier: Apache-2.0 */
/* Posts over libcurl's multi interface, which is the one that another thread can wake. */
#include "export/sender_transport.h"

#include <curl/curl.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/clock.h"
#include "export/sender_outcome.h"
#include "export/sender_protocol.h"
#include "export/sender_settings.h"

#define CONNECT_TIMEOUT_MS_MAX 5000
#define POLL_MS_MAX	       1000
/* An answer is a few bytes; an endless one is cut off here. */
#define ANSWER_KEPT_BYTES     16384
#define ANSWER_ACCEPTED_BYTES 1048576
/* Servers and proxies allow 8 KiB of header as a rule. */
#define FIELDS_KEPT_BYTES 16384

struct sender_transport {
	const struct sender_protocol *protocol;
	CURLM *multi;
	CURL *easy;
	struct curl_slist *headers;	 /* for a plain body */
	struct curl_slist *gzip_headers; /* for a compressed one */
	sender_deadline deadline;
	void *context;
	uint8_t *framed; /* a copy of the body behind its prefix, while it is posted */
	size_t answer_size, answer_seen, fields_size;
	bool global_ready, tls;
	char answer[ANSWER_KEPT_BYTES];
	char fields[FIELDS_KEPT_BYTES];
	char error[CURL_ERROR_SIZE];
};

static size_t keep_answer(char *data, size_t unit, size_t count, void *context)
{
	struct sender_transport *t = context;
	size_t size = unit * count, room = sizeof(t->answer) - t->answer_size;

	t->answer_seen += size;
	if (t->answer_seen > ANSWER_ACCEPTED_BYTES)
		return 0; /* ends the transfer with CURLE_WRITE_ERROR */
	if (room > size)
		room = size;
	memcpy(t->answer + t->answer_size, data, room);
	t->answer_size += room;
	return size;
}

/*
 * Keeps the lines that the protocol asks for: of the last answer (a proxy, or a 100, may come
 * before it) and of its trailer, which libcurl hands over here, too.
 */
static size_t keep_field(char *line, size_t unit, size_t count, void *context)
{
	struct sender_transport *t = context;
	const char *kept = t->protocol->kept_fields;
	size_t size = unit * count, text = size;

	if (size >= 5 && !memcmp(line, "HTTP/", 5))
		t->fields_size = 0;
	while (text && (line[text - 1] == '\r' || line[text - 1] == '\n'))
		text--;
	if (!kept || text < strlen(kept) || strncasecmp(line, kept, strlen(kept)) ||
	    text >= sizeof(t->fields) - t->fields_size)
		return size;
	memcpy(t->fields + t->fields_size, line, text);
	t->fields[t->fields_size + text] = '\n';
	t->fields_size += text + 1;
	return size;
}

int sender_protocol_add(struct curl_slist **list, const char *line)
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

static int make_headers(const struct sender_protocol *protocol,
			const struct sender_settings *settings, bool gzip, struct curl_slist **out)
{
	bool named = false;
	size_t i;
	int err;

	err = protocol->add_headers(out, settings, gzip);
	/* No 100-continue: one round trip less. */
	if (!err)
		err = sender_protocol_add(out, "Expect:");
	for (i = 0; !err && i < settings->header_count; i++) {
		named |= is_user_agent(settings->headers[i]);
		err = sender_protocol_add(out, settings->headers[i]);
	}
	if (!err && !named)
		err = sender_protocol_add(out, "User-Agent: spanprof/" SPANPROF_VERSION);
	return err;
}

static CURLcode set_transport(CURL *easy, const struct sender_settings *settings)
{
	long timeout = (long)settings->timeout_ms;
	long connect = timeout < CONNECT_TIMEOUT_MS_MAX ? timeout : CONNECT_TIMEOUT_MS_MAX;
	CURLcode rc = CURLE_OK;

	rc |= curl_easy_setopt(easy, CURLOPT_URL, settings->url);
	rc |= curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
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

static int set_all(struct sender_transport *t, const struct sender_settings *settings, char *why,
		   size_t why_size)
{
	CURLcode rc = CURLE_OK;

	rc |= set_transport(t->easy, settings);
	rc |= set_secrets(t->easy, settings);
	rc |= curl_easy_setopt(t->easy, CURLOPT_ERRORBUFFER, t->error);
	rc |= curl_easy_setopt(t->easy, CURLOPT_WRITEFUNCTION, keep_answer);
	rc |= curl_easy_setopt(t->easy, CURLOPT_WRITEDATA, t);
	rc |= curl_easy_setopt(t->easy, CURLOPT_HEADERFUNCTION, keep_field);
	rc |= curl_easy_setopt(t->easy, CURLOPT_HEADERDATA, t);
	rc |= curl_easy_setopt(t->easy, CURLOPT_POST, 1L);
	if (!rc)
		return t->protocol->set_options(t->easy, settings, why, why_size);
	snprintf(why, why_size, "OTLP: libcurl refuses a setting (no TLS in this libcurl?)");
	return -EINVAL;
}

int sender_transport_open(const struct sender_settings *settings, sender_deadline deadline,
			  void *context, struct sender_transport **out, char *why, size_t why_size)
{
	struct sender_transport *t = calloc(1, sizeof(*t));
	int err = -ENOMEM;

	*out = NULL;
	if (!t)
		return -ENOMEM;
	t->protocol = settings->grpc ? &sender_protocol_grpc : &sender_protocol_http;
	t->tls = settings->tls;
	t->deadline = deadline;
	t->context = context;
	if (curl_global_init(CURL_GLOBAL_DEFAULT))
		goto out;
	t->global_ready = true;
	t->multi = curl_multi_init();
	t->easy = curl_easy_init();
	if (!t->multi || !t->easy)
		goto out;
	err = make_headers(t->protocol, settings, false, &t->headers);
	if (!err)
		err = make_headers(t->protocol, settings, true, &t->gzip_headers);
	if (!err)
		err = set_all(t, settings, why, why_size);
out:
	if (err) {
		sender_transport_close(t);
		t = NULL;
	}
	*out = t;
	return err;
}

void sender_transport_close(struct sender_transport *t)
{
	if (!t)
		return;
	if (t->easy)
		curl_easy_cleanup(t->easy);
	if (t->multi)
		curl_multi_cleanup(t->multi);
	curl_slist_free_all(t->headers);
	curl_slist_free_all(t->gzip_headers);
	if (t->global_ready)
		curl_global_cleanup();
	free(t);
}

static bool is_late(const struct sender_transport *t, uint64_t *left_ms)
{
	uint64_t deadline = t->deadline(t->context), now = clock_monotonic_ns();

	*left_ms = deadline > now ? (deadline - now) / 1000000 + 1 : 0;
	return deadline <= now;
}

/* Runs the transfer to its end; false when the deadline came first. */
static bool transfer(struct sender_transport *t, CURLcode *rc)
{
	int running = 1, queued;
	uint64_t left_ms;
	CURLMsg *message;

	*rc = CURLE_FAILED_INIT;
	while (running) {
		if (is_late(t, &left_ms))
			return false;
		if (curl_multi_perform(t->multi, &running))
			return true;
		if (running)
			curl_multi_poll(t->multi, NULL, 0,
					left_ms < POLL_MS_MAX ? (int)left_ms : POLL_MS_MAX, NULL);
	}
	while ((message = curl_multi_info_read(t->multi, &queued))) {
		if (message->msg == CURLMSG_DONE)
			*rc = message->data.result;
	}
	return true;
}

static void fill_result(struct sender_transport *t, CURLcode rc, struct sender_result *result)
{
	curl_off_t retry_after = 0;

	*result = (struct sender_result){.rc = rc,
					 .error = t->error,
					 .tls = t->tls,
					 .fields = t->fields,
					 .fields_size = t->fields_size,
					 .body = t->answer,
					 .body_size = t->answer_size};
	curl_easy_getinfo(t->easy, CURLINFO_RESPONSE_CODE, &result->status);
	curl_easy_getinfo(t->easy, CURLINFO_CONTENT_TYPE, &result->content_type);
	curl_easy_getinfo(t->easy, CURLINFO_RETRY_AFTER, &retry_after);
	result->retry_after_s = retry_after > 0 ? (uint64_t)retry_after : 0;
}

/* Hands the body to libcurl, which keeps only the pointer. */
static int start(struct sender_transport *t, const void *body, size_t size, bool gzip)
{
	size_t prefix = t->protocol->prefix_size;

	if (prefix) {
		t->framed = malloc(prefix + size);
		if (!t->framed)
			return -ENOMEM;
		t->protocol->write_prefix(t->framed, size, gzip);
		memcpy(t->framed + prefix, body, size);
		body = t->framed;
	}
	t->answer_size = t->answer_seen = t->fields_size = 0;
	t->error[0] = '\0';
	curl_easy_setopt(t->easy, CURLOPT_HTTPHEADER, gzip ? t->gzip_headers : t->headers);
	curl_easy_setopt(t->easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)(prefix + size));
	curl_easy_setopt(t->easy, CURLOPT_POSTFIELDS, body);
	return curl_multi_add_handle(t->multi, t->easy) ? -ENOMEM : 0;
}

void sender_transport_post(struct sender_transport *t, const void *body, size_t size, bool gzip,
			   struct sender_outcome *out)
{
	struct sender_result result;
	CURLcode rc;

	memset(out, 0, sizeof(*out));
	if (start(t, body, size, gzip)) {
		out->verdict = SENDER_RETRY;
		snprintf(out->reason, sizeof(out->reason), "no memory for the transfer");
	} else if (transfer(t, &rc)) {
		fill_result(t, rc, &result);
		t->protocol->judge(&result, out);
	} else {
		out->verdict = SENDER_STOPPED;
		snprintf(out->reason, sizeof(out->reason), "no answer before the end");
	}
	curl_multi_remove_handle(t->multi, t->easy);
	free(t->framed);
	t->framed = NULL;
}

void sender_transport_wait(struct sender_transport *t, uint64_t ms)
{
	curl_multi_poll(t->multi, NULL, 0, ms < 3600000 ? (int)ms : 3600000, NULL);
}

void sender_transport_wake(struct sender_transport *t)
{
	curl_multi_wakeup(t->multi);
}
