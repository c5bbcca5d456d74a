/* SPDX-License-Identifier: Apache-2.0 */
/* What receivers answer, byte by byte. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "export/sender_outcome.h"
#include "export/sender_protocol.h"

#define BODY(text) text, sizeof(text) - 1

static struct sender_answer answer;

static void empty_answers(void **state)
{
	assert_int_equal(sender_answer_read(NULL, 0, &answer), 0);
	assert_false(answer.has_partial_success);
	/* What a Collector sends: partial_success present, nothing in it. */
	assert_int_equal(sender_answer_read(BODY("\x0a\x00"), &answer), 0);
	assert_false(answer.has_partial_success);
}

static void partial_success(void **state)
{
	assert_int_equal(sender_answer_read(BODY("\x0a\x09\x08\xac\x02\x12\x04too\x1b"), &answer),
			 0);
	assert_true(answer.has_partial_success);
	assert_int_equal(answer.rejected_profiles, 300);
	assert_string_equal(answer.message, "too\xef\xbf\xbd");
	/* Unknown fields of every wire type are passed over. */
	assert_int_equal(sender_answer_read(BODY("\x10\x05\x19"
						 "12345678"
						 "\x25"
						 "1234"
						 "\x0a\x04\x12\x02ok"),
					    &answer),
			 0);
	assert_int_equal(answer.rejected_profiles, 0);
	assert_true(answer.has_partial_success);
	assert_string_equal(answer.message, "ok");
}

static void malformed(void **state)
{
	static const struct {
		const char *data;
		size_t size;
	} bad[] = {
		{BODY("\x0a")}, /* no length */
		{BODY("\x0a\x05"
		      "ab")},		    /* length past the end */
		{BODY("\x0a\x02\x08\xff")}, /* inner number cut off */
		{BODY("\x0b")},		    /* group, gone from proto3 */
		{BODY("\x02\x00")},	    /* field 0 */
		{BODY("<html>")},
		{BODY("\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01")},
	};
	size_t i;

	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(sender_answer_read(bad[i].data, bad[i].size, &answer), -EBADMSG);
	assert_int_equal(sender_answer_read_status(BODY("\x12\x7f"), &answer), -EBADMSG);
	assert_string_equal(answer.message, "");
}

static void statuses_and_texts(void **state)
{
	assert_int_equal(sender_answer_read_status(BODY("\x08\x03\x12\x03"
							"bad"),
						   &answer),
			 0);
	assert_string_equal(answer.message, "bad");
	assert_false(answer.has_retry_info);
	sender_answer_read_text(BODY("first \x1b[2J\nsecond"), &answer);
	assert_string_equal(answer.message, "first \xef\xbf\xbd[2J");
}

/* google.rpc.Status with one google.rpc.Any of details. */
#define TYPE_URL "\x0a\x28type.googleapis.com/google.rpc.RetryInfo"
static void retry_info(void **state)
{
	static const struct {
		const char *data;
		size_t size;
		uint64_t delay_ms;
	} cases[] = {
		/* 3 s and 1 ns: rounded up. */
		{BODY("\x1a\x32" TYPE_URL "\x12\x06\x0a\x04\x08\x03\x10\x01"), 3001},
		{BODY("\x08\x08\x1a\x36\x12\x0a\x0a\x08\x08\x00\x10\x80\xca\xb5\xee\x01" TYPE_URL),
		 500},
		{BODY("\x1a\x2a" TYPE_URL), 0},
		{BODY("\x1a\x2e" TYPE_URL "\x12\x02\x0a\x00"), 0},
		/* −1 s. */
		{BODY("\x1a\x39" TYPE_URL
		      "\x12\x0d\x0a\x0b\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"),
		 0},
		/* 2^63 − 1 s: a day is enough. */
		{BODY("\x1a\x38" TYPE_URL
		      "\x12\x0c\x0a\x0a\x08\xff\xff\xff\xff\xff\xff\xff\xff\x7f"),
		 86400000},
	};
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_int_equal(sender_answer_read_status(cases[i].data, cases[i].size, &answer),
				 0);
		assert_true(answer.has_retry_info);
		assert_int_equal(answer.retry_delay_ms, cases[i].delay_ms);
	}
	/* Another detail; a type that only ends like it. */
	assert_int_equal(sender_answer_read_status(BODY("\x1a\x08\x0a\x06x/Help"), &answer), 0);
	assert_false(answer.has_retry_info);
	assert_int_equal(
		sender_answer_read_status(BODY("\x1a\x18\x0a\x16/google.rpc.aRetryInfo"), &answer),
		0);
	assert_false(answer.has_retry_info);
	/* The delay is cut off. */
	assert_int_equal(sender_answer_read_status(BODY("\x1a\x2f" TYPE_URL "\x12\x03\x0a\x04\x08"),
						   &answer),
			 -EBADMSG);
	assert_false(answer.has_retry_info);
}

static struct sender_outcome judge(CURLcode rc, long status, const char *type, uint64_t after,
				   const char *body)
{
	struct sender_result result = {.rc = rc,
				       .error = "",
				       .status = status,
				       .content_type = type,
				       .retry_after_s = after,
				       .body = body,
				       .body_size = strlen(body)};
	struct sender_outcome out = {0};

	sender_protocol_http.judge(&result, &out);
	return out;
}

static void verdicts(void **state)
{
	static const struct {
		CURLcode rc;
		long status;
		const char *type, *body;
		enum sender_verdict verdict;
		bool wrong_port;
	} cases[] = {
		{CURLE_OK, 200, "application/x-protobuf", "", SENDER_DELIVERED, false},
		{CURLE_OK, 202, NULL, "", SENDER_DELIVERED, false},
		{CURLE_OK, 200, "text/html; charset=utf-8", "<html>", SENDER_REFUSED, false},
		{CURLE_OK, 200, "application/x-protobuf", "rubbish", SENDER_REFUSED, false},
		{CURLE_OK, 302, NULL, "", SENDER_REFUSED, false},
		{CURLE_OK, 400, NULL, "", SENDER_REFUSED, false},
		{CURLE_OK, 415, "application/grpc", "", SENDER_REFUSED, true},
		{CURLE_OK, 429, NULL, "", SENDER_RETRY, false},
		{CURLE_OK, 500, NULL, "", SENDER_REFUSED, false},
		{CURLE_OK, 501, NULL, "", SENDER_REFUSED, false},
		{CURLE_OK, 502, NULL, "", SENDER_RETRY, false},
		{CURLE_OK, 503, NULL, "", SENDER_RETRY, false},
		{CURLE_OK, 504, NULL, "", SENDER_RETRY, false},
		{CURLE_OK, 505, NULL, "", SENDER_REFUSED, false},
		{CURLE_PARTIAL_FILE, 503, NULL, "", SENDER_RETRY, false},
		{CURLE_PARTIAL_FILE, 400, NULL, "", SENDER_REFUSED, false},
		{CURLE_COULDNT_CONNECT, 0, NULL, "", SENDER_RETRY, false},
		{CURLE_COULDNT_RESOLVE_HOST, 0, NULL, "", SENDER_RETRY, false},
		{CURLE_OPERATION_TIMEDOUT, 0, NULL, "", SENDER_RETRY, false},
		{CURLE_RECV_ERROR, 0, NULL, "", SENDER_RETRY, false},
		{CURLE_PEER_FAILED_VERIFICATION, 0, NULL, "", SENDER_REFUSED, false},
		{CURLE_UNSUPPORTED_PROTOCOL, 0, NULL, "", SENDER_REFUSED, true},
		{CURLE_WEIRD_SERVER_REPLY, 0, NULL, "", SENDER_REFUSED, true},
		/* Of a connection whose TLS agreed on HTTP/2: its other end restarts. */
		{CURLE_HTTP2, 0, NULL, "", SENDER_RETRY, false},
		{CURLE_HTTP2_STREAM, 0, NULL, "", SENDER_RETRY, false},
	};
	struct sender_outcome out;
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		out = judge(cases[i].rc, cases[i].status, cases[i].type, 0, cases[i].body);
		assert_int_equal(out.verdict, cases[i].verdict);
		assert_int_equal(out.wrong_port, cases[i].wrong_port);
		assert_int_equal(out.reached, cases[i].status != 0);
		assert_int_equal(out.reason[0] != '\0', out.verdict != SENDER_DELIVERED);
	}
}

static void words(void **state)
{
	struct sender_outcome out;

	out = judge(CURLE_OK, 503, "text/plain", 7, "busy\n");
	assert_true(out.server_asked);
	assert_int_equal(out.retry_after_ms, 7000);
	assert_string_equal(out.reason, "HTTP 503: busy");
	out = judge(CURLE_OK, 503, NULL, 1000000, "");
	assert_int_equal(out.retry_after_ms, 300000);
	out = judge(CURLE_OK, 400, "text/plain", 7, "");
	assert_false(out.server_asked);
	out = judge(CURLE_OK, 400, "application/x-protobuf", 0, "\x12\x04no\x1b!");
	assert_string_equal(out.reason, "HTTP 400: no\xef\xbf\xbd!");
	out = judge(CURLE_OK, 307, "text/html", 0, "<html>");
	assert_string_equal(out.reason, "HTTP 307 (redirects are not followed)");
	out = judge(CURLE_UNSUPPORTED_PROTOCOL, 0, NULL, 0, "");
	assert_string_equal(out.reason, "the answer is not HTTP");
	out = judge(CURLE_WRITE_ERROR, 200, NULL, 0, "");
	assert_int_equal(out.verdict, SENDER_REFUSED);
	assert_string_equal(out.reason, "the answer is too long to be OTLP");
	out = judge(CURLE_SSL_CONNECT_ERROR, 0, NULL, 0, "");
	assert_int_equal(out.verdict, SENDER_RETRY);
	assert_string_equal(out.reason, "SSL connect error (does the receiver speak plain HTTP? "
					"then use http://)");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(empty_answers), cmocka_unit_test(partial_success),
		cmocka_unit_test(malformed),	 cmocka_unit_test(statuses_and_texts),
		cmocka_unit_test(retry_info),	 cmocka_unit_test(verdicts),
		cmocka_unit_test(words),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
