/* SPDX-License-Identifier: Apache-2.0 */
/* OTLP/HTTP with protobuf bodies: its headers, and its rules applied to an answer. */
#include <stdio.h>

#include "export/sender_outcome.h"
#include "export/sender_protocol.h"
#include "export/sender_settings.h"

static int set_options(CURL *easy, const struct sender_settings *settings, char *why,
		       size_t why_size)
{
	curl_easy_setopt(easy, CURLOPT_HTTP_VERSION,
			 settings->tls ? CURL_HTTP_VERSION_2TLS : CURL_HTTP_VERSION_1_1);
	return 0;
}

static int add_headers(struct curl_slist **list, const struct sender_settings *settings, bool gzip)
{
	int err = sender_protocol_add(list, "Content-Type: application/x-protobuf");

	if (!err)
		err = sender_protocol_add(list, "OTLP-Profiles-Development-Version: 1");
	if (!err && gzip)
		err = sender_protocol_add(list, "Content-Encoding: gzip");
	return err;
}

/*
 * Bytes came that are no HTTP/1: libcurl calls them HTTP/0.9 (a gRPC server greets with an HTTP/2
 * SETTINGS frame at once) or a weird reply. CURLE_HTTP2 and CURLE_HTTP2_STREAM are not among them:
 * HTTP/2 is spoken only where TLS agreed on it, so they are faults of a connection, as when a
 * proxy restarts.
 */
static bool is_not_http(CURLcode rc)
{
	return rc == CURLE_UNSUPPORTED_PROTOCOL || rc == CURLE_WEIRD_SERVER_REPLY ||
	       rc == CURLE_BAD_CONTENT_ENCODING;
}

static void judge_success(const struct sender_result *r, struct sender_outcome *out)
{
	out->verdict = SENDER_DELIVERED;
	/* A login page or a web server is not a receiver, whatever its status says. */
	if (sender_outcome_is_type(r, "text/html") ||
	    (sender_outcome_is_type(r, "application/x-protobuf") &&
	     sender_answer_read(r->body, r->body_size, &out->answer))) {
		out->verdict = SENDER_REFUSED;
		snprintf(out->reason, sizeof(out->reason),
			 "HTTP %ld, but the answer is not OTLP: is this an OTLP/HTTP receiver?",
			 r->status);
	}
}

static void judge(const struct sender_result *r, struct sender_outcome *out)
{
	/* An error status that came before the connection broke still says what is wrong. */
	out->reached = !r->rc || r->status >= 300;
	if (out->reached && r->status >= 200 && r->status < 300) {
		judge_success(r, out);
	} else if (out->reached) {
		sender_outcome_status(r, out);
		/* What gRPC servers answer, with 415, over TLS. */
		out->wrong_port = sender_outcome_is_type(r, "application/grpc");
	} else if (is_not_http(r->rc)) {
		out->verdict = SENDER_REFUSED;
		out->wrong_port = true;
		snprintf(out->reason, sizeof(out->reason), "the answer is not HTTP");
	} else {
		sender_outcome_failed(r, out);
	}
}

const struct sender_protocol sender_protocol_http = {
	.set_options = set_options,
	.add_headers = add_headers,
	.judge = judge,
};
