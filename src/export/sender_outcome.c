/* SPDX-License-Identifier: Apache-2.0 */
/* The rules of OTLP/HTTP (specification, "Failures") applied to one finished transfer. */
#include "export/sender_outcome.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/string_table.h"

/* A server that asks for more than this is not believed. */
#define RETRY_AFTER_S_MAX 300

/* Faults of the set-up, which time does not mend. */
static bool is_permanent(CURLcode rc)
{
	switch (rc) {
	case CURLE_URL_MALFORMAT:
	case CURLE_OUT_OF_MEMORY:
	case CURLE_PEER_FAILED_VERIFICATION:
	case CURLE_SSL_CERTPROBLEM:
	case CURLE_SSL_CACERT_BADFILE:
	case CURLE_SSL_CIPHER:
	case CURLE_SSL_ISSUER_ERROR:
	case CURLE_SSL_ENGINE_NOTFOUND:
	case CURLE_WRITE_ERROR: /* an endless answer */
		return true;
	default:
		return false;
	}
}

/*
 * Bytes came that are no HTTP/1: libcurl calls them HTTP/0.9 (a gRPC server greets with an HTTP/2
 * SETTINGS frame at once) or a weird reply. CURLE_HTTP2 and CURLE_HTTP2_STREAM are not among them:
 * HTTP/2 is spoken only where TLS agreed on it (sender_http.c), so they are faults of a connection,
 * as when a proxy restarts.
 */
static bool is_not_http(CURLcode rc)
{
	return rc == CURLE_UNSUPPORTED_PROTOCOL || rc == CURLE_WEIRD_SERVER_REPLY ||
	       rc == CURLE_BAD_CONTENT_ENCODING;
}

static bool is_type(const char *content_type, const char *wanted)
{
	return content_type && !strncasecmp(content_type, wanted, strlen(wanted));
}

static void judge_failure(const struct sender_result *r, struct sender_outcome *out)
{
	char words[200];
	const char *text = r->error && *r->error ? r->error : curl_easy_strerror(r->rc);

	string_clean(words, sizeof(words), text, strlen(text));
	out->not_http = is_not_http(r->rc);
	out->verdict = out->not_http || is_permanent(r->rc) ? SENDER_REFUSED : SENDER_RETRY;
	if (out->not_http)
		snprintf(out->reason, sizeof(out->reason), "the answer is not HTTP");
	else if (r->rc == CURLE_WRITE_ERROR)
		snprintf(out->reason, sizeof(out->reason), "the answer is too long to be OTLP");
	else if (r->rc == CURLE_SSL_CONNECT_ERROR)
		snprintf(out->reason, sizeof(out->reason),
			 "%s (does the receiver speak plain HTTP? then use http://)", words);
	else
		snprintf(out->reason, sizeof(out->reason), "%s", words);
}

static void judge_success(const struct sender_result *r, struct sender_outcome *out)
{
	out->verdict = SENDER_DELIVERED;
	/* A login page or a web server is not a receiver, whatever its status says. */
	if (is_type(r->content_type, "text/html") ||
	    (is_type(r->content_type, "application/x-protobuf") &&
	     sender_answer_read(r->body, r->body_size, &out->answer))) {
		out->verdict = SENDER_REFUSED;
		snprintf(out->reason, sizeof(out->reason),
			 "HTTP %ld, but the answer is not OTLP: is this an OTLP/HTTP receiver?",
			 r->status);
	}
}

static const char *advice(long status)
{
	switch (status) {
	case 401:
	case 403:
		return " (set OTEL_EXPORTER_OTLP_HEADERS?)";
	case 404:
	case 405:
		return " (no profiles there: does the receiver have its profiles pipeline on?)";
	case 413:
		return " (request too large for the receiver)";
	default:
		return status >= 300 && status < 400 ? " (redirects are not followed)" : "";
	}
}

static void judge_status(const struct sender_result *r, struct sender_outcome *out)
{
	struct sender_answer answer = {0};

	if (is_type(r->content_type, "application/x-protobuf"))
		sender_answer_read_status(r->body, r->body_size, &answer);
	else if (!is_type(r->content_type, "text/html"))
		sender_answer_read_text(r->body, r->body_size, &answer);
	snprintf(out->reason, sizeof(out->reason), "HTTP %ld%s%s%s", r->status,
		 answer.message[0] ? ": " : "", answer.message, advice(r->status));
	out->verdict = r->status == 429 || (r->status >= 502 && r->status <= 504) ? SENDER_RETRY
										  : SENDER_REFUSED;
	if (out->verdict == SENDER_RETRY && r->retry_after_s) {
		out->server_asked = true;
		out->retry_after_ms =
			1000 * (r->retry_after_s < RETRY_AFTER_S_MAX ? r->retry_after_s
								     : RETRY_AFTER_S_MAX);
	}
}

void sender_outcome_of(const struct sender_result *r, struct sender_outcome *out)
{
	memset(out, 0, sizeof(*out));
	/* An error status that came before the connection broke still says what is wrong. */
	if (r->rc && r->status < 300) {
		judge_failure(r, out);
		return;
	}
	out->reached = true;
	if (r->status >= 200 && r->status < 300)
		judge_success(r, out);
	else
		judge_status(r, out);
}
