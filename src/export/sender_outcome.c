/* SPDX-License-Identifier: Apache-2.0 */
/* Verdicts on transfers that failed and on bare HTTP statuses (OTLP specification, "Failures"). */
#include "export/sender_outcome.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/string_table.h"

/* A server that asks for more than this is not believed. */
#define RETRY_AFTER_MS_MAX 300000

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

bool sender_outcome_is_type(const struct sender_result *r, const char *wanted)
{
	return r->content_type && !strncasecmp(r->content_type, wanted, strlen(wanted));
}

void sender_outcome_wait(struct sender_outcome *out, uint64_t ms)
{
	out->server_asked = true;
	out->retry_after_ms = ms < RETRY_AFTER_MS_MAX ? ms : RETRY_AFTER_MS_MAX;
}

void sender_outcome_failed(const struct sender_result *r, struct sender_outcome *out)
{
	char words[200];
	const char *text = r->error && *r->error ? r->error : curl_easy_strerror(r->rc);

	string_clean(words, sizeof(words), text, strlen(text));
	out->verdict = is_permanent(r->rc) ? SENDER_REFUSED : SENDER_RETRY;
	if (r->rc == CURLE_WRITE_ERROR)
		snprintf(out->reason, sizeof(out->reason), "the answer is too long to be OTLP");
	else if (r->rc == CURLE_SSL_CONNECT_ERROR)
		snprintf(out->reason, sizeof(out->reason),
			 "%s (does the receiver speak plain HTTP? then use http://)", words);
	else
		snprintf(out->reason, sizeof(out->reason), "%s", words);
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

void sender_outcome_status(const struct sender_result *r, struct sender_outcome *out)
{
	struct sender_answer answer = {0};

	if (sender_outcome_is_type(r, "application/x-protobuf"))
		sender_answer_read_status(r->body, r->body_size, &answer);
	else if (!sender_outcome_is_type(r, "text/html"))
		sender_answer_read_text(r->body, r->body_size, &answer);
	snprintf(out->reason, sizeof(out->reason), "HTTP %ld%s%s%s", r->status,
		 answer.message[0] ? ": " : "", answer.message, advice(r->status));
	out->verdict = r->status == 429 || (r->status >= 502 && r->status <= 504) ? SENDER_RETRY
										  : SENDER_REFUSED;
	if (out->verdict == SENDER_RETRY && r->retry_after_s)
		sender_outcome_wait(out, r->retry_after_s > UINT64_MAX / 1000
						 ? UINT64_MAX
						 : r->retry_after_s * 1000);
}
