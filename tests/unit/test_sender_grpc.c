/* SPDX-License-Identifier: Apache-2.0 */
/* gRPC's framing, metadata and answers, byte by byte; tests/e2e/otlp_grpc.sh has them on the wire.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/bytes.h"
#include "base/gzip.h"
#include "export/sender_grpc_answer.h"
#include "export/sender_outcome.h"
#include "export/sender_protocol.h"
#include "export/sender_settings.h"

static struct sender_answer answer;

#define FIELDS(text) sender_grpc_read_fields(text, sizeof(text) - 1, &answer)

static void statuses(void **state)
{
	assert_int_equal(FIELDS(""), SENDER_GRPC_NO_STATUS);
	assert_int_equal(FIELDS("grpc-encoding: identity\n"), SENDER_GRPC_NO_STATUS);
	assert_int_equal(FIELDS("grpc-status: 0\n"), 0);
	assert_int_equal(FIELDS("Grpc-Status:14\n"), 14);
	assert_int_equal(FIELDS("grpc-status: 99\n"), 99);
	/* The trailer's counts, not the header's. */
	assert_int_equal(FIELDS("grpc-status: 0\ngrpc-message: m\ngrpc-status: 8\n"), 8);
	assert_string_equal(answer.message, "m");
	/* The name is whole. */
	assert_int_equal(FIELDS("grpc-status-details-bin: 0\n"), SENDER_GRPC_NO_STATUS);
	/* No number, or one that no status is. */
	assert_int_equal(FIELDS("grpc-status: \n"), SENDER_GRPC_UNKNOWN);
	assert_int_equal(FIELDS("grpc-status: ok\n"), SENDER_GRPC_UNKNOWN);
	assert_int_equal(FIELDS("grpc-status: -1\n"), SENDER_GRPC_UNKNOWN);
	assert_int_equal(FIELDS("grpc-status: 99999999999\n"), SENDER_GRPC_UNKNOWN);
	/* The last line may be cut off. */
	assert_int_equal(FIELDS("grpc-status: 16"), 16);
	assert_int_equal(FIELDS("grpc-status"), SENDER_GRPC_NO_STATUS);
	assert_int_equal(FIELDS("grpc-status:"), SENDER_GRPC_UNKNOWN);
}

static void status_names(void **state)
{
	assert_string_equal(sender_grpc_status_name(0), "OK");
	assert_string_equal(sender_grpc_status_name(8), "RESOURCE_EXHAUSTED");
	assert_string_equal(sender_grpc_status_name(14), "UNAVAILABLE");
	assert_string_equal(sender_grpc_status_name(16), "UNAUTHENTICATED");
	assert_null(sender_grpc_status_name(17));
	assert_null(sender_grpc_status_name(-1));
}

static void messages(void **state)
{
	char long_one[4096] = "grpc-message: ";

	FIELDS("grpc-message: too%20many%3a caf%C3%A9\n");
	assert_string_equal(answer.message, "too many: caf\xc3\xa9");
	FIELDS("grpc-message: 100% of %4 and %zz%\n");
	assert_string_equal(answer.message, "100% of %4 and %zz%");
	FIELDS("grpc-message: a%1b[2Jb%0ac%ff\n");
	assert_string_equal(answer.message, "a\xef\xbf\xbd[2Jb\xef\xbf\xbd"
					    "c\xef\xbf\xbd");
	FIELDS("grpc-message:\n");
	assert_string_equal(answer.message, "");
	memset(long_one + 14, 'x', sizeof(long_one) - 14);
	sender_grpc_read_fields(long_one, sizeof(long_one), &answer);
	assert_int_equal(strlen(answer.message), SENDER_MESSAGE_MAX - 1);
}

/* code 8, message "wait", RetryInfo of 1.5 s. */
#define DETAILS                                                                                    \
	"CAgSBHdhaXQaNgoodHlwZS5nb29nbGVhcGlzLmNvbS9nb29nbGUucnBjLlJldHJ5SW5mbxIKCggIARCAyrXuAQ"

static void details(void **state)
{
	assert_int_equal(FIELDS("grpc-status: 8\ngrpc-status-details-bin: " DETAILS "\n"), 8);
	assert_true(answer.has_retry_info);
	assert_int_equal(answer.retry_delay_ms, 1500);
	assert_string_equal(answer.message, "wait");
	/* Padded; the message of its own wins. */
	FIELDS("grpc-status-details-bin: " DETAILS "==\ngrpc-message: later\n");
	assert_int_equal(answer.retry_delay_ms, 1500);
	assert_string_equal(answer.message, "later");
	/* Two values. */
	FIELDS("grpc-status-details-bin: " DETAILS ",AAAA\n");
	assert_int_equal(answer.retry_delay_ms, 1500);
	/* No base64; base64 of no message; nothing. */
	FIELDS("grpc-status-details-bin: CAg\x01\ngrpc-message: m\n");
	assert_false(answer.has_retry_info);
	assert_string_equal(answer.message, "m");
	FIELDS("grpc-status-details-bin: /////w==\n");
	assert_false(answer.has_retry_info);
	FIELDS("grpc-status-details-bin: \n");
	assert_false(answer.has_retry_info);
}

static void too_long_details(void **state)
{
	static char lines[20000] = "grpc-status: 8\ngrpc-status-details-bin: ";
	size_t start = strlen(lines);

	memset(lines + start, 'A', sizeof(lines) - start);
	assert_int_equal(sender_grpc_read_fields(lines, sizeof(lines), &answer), 8);
	assert_false(answer.has_retry_info);
}

static void bodies(void **state)
{
	static const struct {
		const char *data;
		size_t size;
	} bad[] = {
		{"\0\0\0\0", 4},	   /* prefix cut off */
		{"\0\0\0\0\2a", 6},	   /* message cut off */
		{"\0\0\0\0\2\n\0x", 8},	   /* more behind it */
		{"\1\0\0\0\2\n\0", 7},	   /* not compressed */
		{"\2\0\0\0\2\n\0", 7},	   /* no such flag */
		{"\0\xff\xff\xff\xff", 5}, /* 4 GiB */
		{"<html>", 6},
	};
	size_t i;

	assert_int_equal(sender_grpc_read_body("\0\0\0\0\2\n\0", 7, &answer), 0);
	assert_int_equal(sender_grpc_read_body("\0\0\0\0\0", 5, &answer), 0);
	assert_int_equal(sender_grpc_read_body("\1\0\0\0\0", 5, &answer), 0);
	assert_int_equal(sender_grpc_read_body(NULL, 0, &answer), 0);
	assert_false(answer.has_partial_success);
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_int_equal(sender_grpc_read_body(bad[i].data, bad[i].size, &answer),
				 -EBADMSG);
		assert_false(answer.has_partial_success);
	}
}

/* The body of a compressed answer with that message; its size. */
static size_t pack(const void *message, size_t size, uint8_t *to)
{
	struct buffer packed;

	buffer_open(&packed, 4096);
	assert_int_equal(gzip_pack(message, size, &packed), 0);
	sender_protocol_grpc.write_prefix(to, packed.size, true);
	memcpy(to + SENDER_GRPC_FRAME_BYTES, packed.data, packed.size);
	size = SENDER_GRPC_FRAME_BYTES + packed.size;
	buffer_close(&packed);
	return size;
}

/* partial_success with a message of 100 times 'x'. */
static void compressed_bodies(void **state)
{
	static uint8_t message[20000] = "\x0a\x66\x12\x64", body[20000];
	size_t size;

	memset(message + 4, 'x', 100);
	size = pack(message, 104, body);
	assert_int_equal(sender_grpc_read_body(body, size, &answer), 0);
	assert_true(answer.has_partial_success);
	assert_int_equal(strlen(answer.message), 100);
	/* Damaged; cut off, as its prefix says; and with a byte behind it. */
	body[size - 1] ^= 1;
	assert_int_equal(sender_grpc_read_body(body, size, &answer), -EBADMSG);
	body[size - 1] ^= 1;
	body[4] -= 1;
	assert_int_equal(sender_grpc_read_body(body, size - 1, &answer), -EBADMSG);
	body[4] += 2;
	assert_int_equal(sender_grpc_read_body(body, size + 1, &answer), -EBADMSG);
	/* More than is ever looked at. */
	size = pack(message, sizeof(message), body);
	assert_int_equal(sender_grpc_read_body(body, size, &answer), -EBADMSG);
}

static void prefixes(void **state)
{
	uint8_t prefix[SENDER_GRPC_FRAME_BYTES];

	assert_int_equal(sender_protocol_grpc.prefix_size, SENDER_GRPC_FRAME_BYTES);
	sender_protocol_grpc.write_prefix(prefix, 0x01020304, false);
	assert_memory_equal(prefix, "\0\1\2\3\4", 5);
	sender_protocol_grpc.write_prefix(prefix, 255, true);
	assert_memory_equal(prefix, "\1\0\0\0\xff", 5);
}

static bool has_line(const struct curl_slist *list, const char *line)
{
	for (; list; list = list->next) {
		if (!strcmp(list->data, line))
			return true;
	}
	return false;
}

static void metadata(void **state)
{
	struct sender_settings settings = {.timeout_ms = SENDER_TIMEOUT_MS_MAX};
	struct curl_slist *plain = NULL, *gzip = NULL;

	assert_int_equal(sender_protocol_grpc.add_headers(&plain, &settings, false), 0);
	assert_int_equal(sender_protocol_grpc.add_headers(&gzip, &settings, true), 0);
	assert_true(has_line(plain, "content-type: application/grpc"));
	assert_true(has_line(plain, "te: trailers"));
	assert_true(has_line(plain, "otlp-profiles-development-version: 1"));
	assert_true(has_line(plain, "grpc-accept-encoding: identity,gzip"));
	assert_true(has_line(plain, "grpc-timeout: 3600000m"));
	assert_false(has_line(plain, "grpc-encoding: gzip"));
	assert_true(has_line(gzip, "grpc-encoding: gzip"));
	assert_true(has_line(gzip, "te: trailers"));
	curl_slist_free_all(plain);
	curl_slist_free_all(gzip);
}

#define OTLP_BODY "\0\0\0\0\2\n\0"

static struct sender_outcome judge(CURLcode rc, long status, const char *type, const char *fields,
				   const void *body, size_t body_size)
{
	struct sender_result result = {.rc = rc,
				       .error = "",
				       .status = status,
				       .content_type = type,
				       .fields = fields,
				       .fields_size = strlen(fields),
				       .body = body,
				       .body_size = body_size};
	struct sender_outcome out = {0};

	sender_protocol_grpc.judge(&result, &out);
	return out;
}

static void verdicts_by_status(void **state)
{
	static const enum sender_verdict wanted[18] = {
		SENDER_DELIVERED, SENDER_RETRY,	  SENDER_REFUSED, SENDER_REFUSED, SENDER_RETRY,
		SENDER_REFUSED,	  SENDER_REFUSED, SENDER_REFUSED, SENDER_REFUSED, SENDER_REFUSED,
		SENDER_RETRY,	  SENDER_RETRY,	  SENDER_REFUSED, SENDER_REFUSED, SENDER_RETRY,
		SENDER_RETRY,	  SENDER_REFUSED, SENDER_REFUSED,
	};
	struct sender_outcome out;
	char fields[64];
	int status;

	for (status = 0; status < 18; status++) {
		snprintf(fields, sizeof(fields), "grpc-status: %d\n", status);
		out = judge(CURLE_OK, 200, "application/grpc", fields, OTLP_BODY, 7);
		assert_int_equal(out.verdict, wanted[status]);
		assert_true(out.reached);
		assert_false(out.wrong_port);
		assert_false(out.server_asked);
		assert_int_equal(out.reason[0] != '\0', status != 0);
	}
	assert_string_equal(out.reason, "gRPC status 17");
	out = judge(CURLE_OK, 200, "application/grpc", "grpc-status: 14\ngrpc-message: full%21\n",
		    NULL, 0);
	assert_string_equal(out.reason, "UNAVAILABLE: full!");
	out = judge(CURLE_OK, 200, "application/grpc+proto",
		    "grpc-status: 7\ngrpc-message: no%1b\n", NULL, 0);
	assert_string_equal(out.reason,
			    "PERMISSION_DENIED: no\xef\xbf\xbd (set OTEL_EXPORTER_OTLP_HEADERS?)");
	out = judge(CURLE_OK, 200, "application/grpc", "grpc-status: 12\n", NULL, 0);
	assert_string_equal(out.reason, "UNIMPLEMENTED (no profiles there: a Collector needs a "
					"profiles pipeline and "
					"--feature-gates=service.profilesSupport)");
}

static void waits_as_asked(void **state)
{
	struct sender_outcome out;

	out = judge(CURLE_OK, 200, "application/grpc",
		    "grpc-status: 8\ngrpc-status-details-bin: " DETAILS "\n", NULL, 0);
	assert_int_equal(out.verdict, SENDER_RETRY);
	assert_true(out.server_asked);
	assert_int_equal(out.retry_after_ms, 1500);
	assert_string_equal(out.reason, "RESOURCE_EXHAUSTED: wait");
	/* RetryInfo{}: try again, when is ours to say. */
	out = judge(CURLE_OK, 200, "application/grpc",
		    "grpc-status: 8\ngrpc-status-details-bin: "
		    "GioKKHR5cGUuZ29vZ2xlYXBpcy5jb20vZ29vZ2xlLnJwYy5SZXRyeUluZm8=\n",
		    NULL, 0);
	assert_int_equal(out.verdict, SENDER_RETRY);
	assert_false(out.server_asked);
	/* Of a status that is never retried it changes nothing. */
	out = judge(CURLE_OK, 200, "application/grpc",
		    "grpc-status: 3\ngrpc-status-details-bin: " DETAILS "\n", NULL, 0);
	assert_int_equal(out.verdict, SENDER_REFUSED);
	assert_false(out.server_asked);
}

static void partial_success(void **state)
{
	struct sender_outcome out = judge(CURLE_OK, 200, "application/grpc", "grpc-status: 0\n",
					  "\0\0\0\0\x0b\x0a\x09\x08\xac\x02\x12\x04too\x1b", 16);

	assert_int_equal(out.verdict, SENDER_DELIVERED);
	assert_true(out.answer.has_partial_success);
	assert_int_equal(out.answer.rejected_profiles, 300);
	assert_string_equal(out.answer.message, "too\xef\xbf\xbd");
}

/* With TLS HTTP/2 was agreed on: a connection that breaks is no other protocol. */
static void broken_tls(void **state)
{
	struct sender_result result = {.rc = CURLE_RECV_ERROR, .error = "alert", .tls = true};
	struct sender_outcome out = {0};

	sender_protocol_grpc.judge(&result, &out);
	assert_int_equal(out.verdict, SENDER_RETRY);
	assert_false(out.wrong_port);
	assert_string_equal(out.reason, "alert");
}

static void strangers(void **state)
{
	static const struct {
		CURLcode rc;
		long status;
		const char *type, *fields;
		enum sender_verdict verdict;
		bool wrong_port, reached;
	} cases[] = {
		/* Without a gRPC status the HTTP one counts. */
		{CURLE_OK, 200, "application/grpc", "", SENDER_REFUSED, false, true},
		{CURLE_OK, 200, "text/html", "grpc-status: 0\n", SENDER_REFUSED, true, true},
		{CURLE_OPERATION_TIMEDOUT, 200, "text/html", "", SENDER_REFUSED, true, true},
		{CURLE_OPERATION_TIMEDOUT, 200, "application/grpc", "", SENDER_RETRY, false, false},
		{CURLE_OPERATION_TIMEDOUT, 404, "text/html", "", SENDER_REFUSED, true, true},
		{CURLE_OK, 400, NULL, "", SENDER_REFUSED, false, true},
		{CURLE_OK, 401, NULL, "", SENDER_REFUSED, false, true},
		{CURLE_OK, 404, NULL, "", SENDER_REFUSED, true, true},
		{CURLE_OK, 302, NULL, "", SENDER_REFUSED, false, true},
		{CURLE_OK, 429, NULL, "", SENDER_RETRY, false, true},
		{CURLE_OK, 502, NULL, "", SENDER_RETRY, false, true},
		{CURLE_OK, 503, "text/plain", "", SENDER_RETRY, false, true},
		{CURLE_OK, 504, NULL, "", SENDER_RETRY, false, true},
		/* With one it does not. */
		{CURLE_OK, 415, "application/grpc", "grpc-status: 3\n", SENDER_REFUSED, false,
		 true},
		/* A refusal came, then the connection broke; an OK that broke is none. */
		{CURLE_HTTP2_STREAM, 200, "application/grpc", "grpc-status: 14\n", SENDER_RETRY,
		 false, true},
		{CURLE_HTTP2_STREAM, 200, "application/grpc", "grpc-status: 0\n", SENDER_RETRY,
		 false, false},
		{CURLE_WRITE_ERROR, 200, "application/grpc", "", SENDER_REFUSED, false, false},
		/* Nothing came. */
		{CURLE_GOT_NOTHING, 0, NULL, "", SENDER_RETRY, true, false},
		{CURLE_COULDNT_CONNECT, 0, NULL, "", SENDER_RETRY, false, false},
		{CURLE_HTTP2, 0, NULL, "", SENDER_RETRY, true, false},
		{CURLE_SEND_ERROR, 0, NULL, "", SENDER_RETRY, true, false},
		{CURLE_RECV_ERROR, 200, "application/grpc", "", SENDER_RETRY, false, false},
		{CURLE_OPERATION_TIMEDOUT, 0, NULL, "", SENDER_RETRY, false, false},
		{CURLE_PEER_FAILED_VERIFICATION, 0, NULL, "", SENDER_REFUSED, false, false},
	};
	struct sender_outcome out;
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		out = judge(cases[i].rc, cases[i].status, cases[i].type, cases[i].fields, "", 0);
		assert_int_equal(out.verdict, cases[i].verdict);
		assert_int_equal(out.wrong_port, cases[i].wrong_port);
		assert_int_equal(out.reached, cases[i].reached);
		assert_true(out.reason[0] != '\0');
	}
	out = judge(CURLE_OK, 200, "application/grpc", "grpc-status: 0\n", "<html>", 6);
	assert_int_equal(out.verdict, SENDER_REFUSED);
	assert_string_equal(out.reason, "gRPC status OK, but the answer is not OTLP: is this an "
					"OTLP receiver?");
	out = judge(CURLE_OK, 200, "application/grpc", "grpc-status: 0\n", "\0\0\0\0\2\xff\xff", 7);
	assert_int_equal(out.verdict, SENDER_REFUSED);
	out = judge(CURLE_HTTP2_STREAM, 0, NULL, "", NULL, 0);
	assert_int_equal(out.verdict, SENDER_RETRY);
	assert_true(out.cut_short);
	assert_true(out.reached);
	out = judge(CURLE_GOT_NOTHING, 0, NULL, "", NULL, 0);
	assert_string_equal(out.reason,
			    "no answer in HTTP/2 (Server returned nothing (no headers, no data))");
	assert_false(out.cut_short);
	out = judge(CURLE_OK, 503, "text/plain", "", "busy\nnow", 8);
	assert_string_equal(out.reason, "HTTP 503: busy");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(statuses),	    cmocka_unit_test(status_names),
		cmocka_unit_test(messages),	    cmocka_unit_test(details),
		cmocka_unit_test(too_long_details), cmocka_unit_test(compressed_bodies),
		cmocka_unit_test(bodies),	    cmocka_unit_test(prefixes),
		cmocka_unit_test(metadata),	    cmocka_unit_test(verdicts_by_status),
		cmocka_unit_test(waits_as_asked),   cmocka_unit_test(partial_success),
		cmocka_unit_test(strangers),	    cmocka_unit_test(broken_tls),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
