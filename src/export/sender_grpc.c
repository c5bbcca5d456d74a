/* SPDX-License-Identifier: Apache-2.0 */
/* OTLP/gRPC, a unary call for each request: framing, metadata, and its rules for an answer. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/string_table.h"
#include "export/sender_grpc_answer.h"
#include "export/sender_outcome.h"
#include "export/sender_protocol.h"
#include "export/sender_settings.h"

/* curl 8.0.0: a connection in cleartext HTTP/2 can be used again (curl#10634). */
#define CURL_REUSES_H2C 0x080000

static int set_options(CURL *easy, const struct sender_settings *settings, char *why,
		       size_t why_size)
{
	const curl_version_info_data *curl = curl_version_info(CURLVERSION_NOW);
	long once = !settings->tls && curl->version_num < CURL_REUSES_H2C;
	CURLcode rc = CURLE_OK;

	if (!(curl->features & CURL_VERSION_HTTP2)) {
		snprintf(why, why_size,
			 "OTLP: this libcurl has no HTTP/2, which gRPC needs: set "
			 "OTEL_EXPORTER_OTLP_PROTOCOL to http/protobuf");
		return -EINVAL;
	}
	rc |= curl_easy_setopt(easy, CURLOPT_HTTP_VERSION,
			       settings->tls ? CURL_HTTP_VERSION_2TLS
					     : CURL_HTTP_VERSION_2_PRIOR_KNOWLEDGE);
	/* A transfer that ends with the announced bytes never sees the trailer. */
	rc |= curl_easy_setopt(easy, CURLOPT_IGNORE_CONTENT_LENGTH, 1L);
	rc |= curl_easy_setopt(easy, CURLOPT_FRESH_CONNECT, once);
	rc |= curl_easy_setopt(easy, CURLOPT_FORBID_REUSE, once);
	if (!rc)
		return 0;
	snprintf(why, why_size, "OTLP: libcurl refuses HTTP/2");
	return -EINVAL;
}

static int add_headers(struct curl_slist **list, const struct sender_settings *settings, bool gzip)
{
	static const char *const lines[] = {
		"content-type: application/grpc",
		"te: trailers",
		"grpc-accept-encoding: identity,gzip",
		"otlp-profiles-development-version: 1",
		"accept:", /* libcurl's own */
	};
	char timeout[64];
	size_t i;
	int err = 0;

	for (i = 0; !err && i < sizeof(lines) / sizeof(lines[0]); i++)
		err = sender_protocol_add(list, lines[i]);
	/* Eight digits at most; a settings' timeout has seven. */
	snprintf(timeout, sizeof(timeout), "grpc-timeout: %" PRIu64 "m", settings->timeout_ms);
	if (!err)
		err = sender_protocol_add(list, timeout);
	if (!err && gzip)
		err = sender_protocol_add(list, "grpc-encoding: gzip");
	return err;
}

static void write_prefix(uint8_t *to, size_t body_size, bool gzip)
{
	to[0] = gzip;
	to[1] = (uint8_t)(body_size >> 24);
	to[2] = (uint8_t)(body_size >> 16);
	to[3] = (uint8_t)(body_size >> 8);
	to[4] = (uint8_t)body_size;
}

static void judge_ok(const struct sender_result *r, struct sender_outcome *out)
{
	out->verdict = SENDER_DELIVERED;
	if (sender_grpc_read_body(r->body, r->body_size, &out->answer)) {
		out->verdict = SENDER_REFUSED;
		snprintf(out->reason, sizeof(out->reason),
			 "gRPC status OK, but the answer is not OTLP: is this an OTLP receiver?");
	}
}

/* OTLP specification, "Failures" of OTLP/gRPC. */
static bool is_retryable(int status, const struct sender_answer *answer)
{
	switch (status) {
	case SENDER_GRPC_CANCELLED:
	case SENDER_GRPC_DEADLINE_EXCEEDED:
	case SENDER_GRPC_ABORTED:
	case SENDER_GRPC_OUT_OF_RANGE:
	case SENDER_GRPC_UNAVAILABLE:
	case SENDER_GRPC_DATA_LOSS:
		return true;
	case SENDER_GRPC_RESOURCE_EXHAUSTED:
		return answer->has_retry_info;
	default:
		return false;
	}
}

static const char *advice(int status)
{
	switch (status) {
	case SENDER_GRPC_PERMISSION_DENIED:
	case SENDER_GRPC_UNAUTHENTICATED:
		return " (set OTEL_EXPORTER_OTLP_HEADERS?)";
	case SENDER_GRPC_UNIMPLEMENTED:
		return " (no profiles there: a Collector needs a profiles pipeline and "
		       "--feature-gates=service.profilesSupport)";
	default:
		return "";
	}
}

static void judge_status(int status, const struct sender_answer *answer, struct sender_outcome *out)
{
	const char *name = sender_grpc_status_name(status);
	char number[32];

	snprintf(number, sizeof(number), "gRPC status %d", status);
	snprintf(out->reason, sizeof(out->reason), "%s%s%s%s", name ? name : number,
		 answer->message[0] ? ": " : "", answer->message, advice(status));
	out->verdict = is_retryable(status, answer) ? SENDER_RETRY : SENDER_REFUSED;
	if (out->verdict == SENDER_RETRY && answer->retry_delay_ms)
		sender_outcome_wait(out, answer->retry_delay_ms);
}

/* What libcurl makes of bytes that are no HTTP/2, but of a server that just ends as well. */
static bool may_be_another_protocol(CURLcode rc)
{
	return rc == CURLE_GOT_NOTHING || rc == CURLE_SEND_ERROR || rc == CURLE_RECV_ERROR ||
	       rc == CURLE_PARTIAL_FILE || rc == CURLE_HTTP2;
}

static void judge_broken(const struct sender_result *r, struct sender_outcome *out)
{
	char words[200];

	sender_outcome_failed(r, out);
	/* With TLS both sides agreed on HTTP/2 before. */
	out->wrong_port = !r->tls && !r->status && may_be_another_protocol(r->rc);
	if (out->wrong_port) {
		string_clean(words, sizeof(words), out->reason, strlen(out->reason));
		snprintf(out->reason, sizeof(out->reason), "no answer in HTTP/2 (%s)", words);
	}
	/*
	 * The stream was closed without an error, before all was sent, and libcurl 7.88 does not
	 * hand over what was said: too large, as a rule, but perhaps a proxy without a receiver.
	 */
	if (r->rc == CURLE_HTTP2_STREAM && !*r->error && !r->status) {
		out->reached = out->cut_short = true;
		snprintf(out->reason, sizeof(out->reason),
			 "the receiver ended the call before all of it was sent (too large for its "
			 "max_recv_msg_size?)");
	}
}

/* Something that speaks HTTP, or not even that. */
static void judge_stranger(const struct sender_result *r, struct sender_outcome *out)
{
	const bool is_grpc = sender_outcome_is_type(r, "application/grpc");

	/* Whoever answers like this need not finish: with HTTP/1.1 the length was ignored. */
	out->reached = !r->rc || r->status >= 300 || (r->status >= 200 && !is_grpc);
	if (out->reached && r->status < 300) {
		out->verdict = SENDER_REFUSED;
		out->wrong_port = !is_grpc;
		snprintf(out->reason, sizeof(out->reason),
			 "HTTP %ld, but no gRPC status: is this an OTLP/gRPC receiver?", r->status);
	} else if (out->reached) {
		sender_outcome_status(r, out);
		out->wrong_port = r->status == 404 || r->status == 405;
	} else {
		judge_broken(r, out);
	}
}

static void judge(const struct sender_result *r, struct sender_outcome *out)
{
	struct sender_answer answer;
	int status = sender_grpc_read_fields(r->fields, r->fields_size, &answer);

	if (!sender_outcome_is_type(r, "application/grpc"))
		status = SENDER_GRPC_NO_STATUS;
	/* A refusal counts although the connection broke, as when it came before all was sent. */
	if (status == SENDER_GRPC_NO_STATUS || (status == SENDER_GRPC_OK && r->rc)) {
		judge_stranger(r, out);
		return;
	}
	out->reached = true;
	if (status == SENDER_GRPC_OK)
		judge_ok(r, out);
	else
		judge_status(status, &answer, out);
}

const struct sender_protocol sender_protocol_grpc = {
	.set_options = set_options,
	.add_headers = add_headers,
	.prefix_size = SENDER_GRPC_FRAME_BYTES,
	.write_prefix = write_prefix,
	.kept_fields = "grpc-",
	.judge = judge,
};
