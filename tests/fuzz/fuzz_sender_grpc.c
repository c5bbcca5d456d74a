/* SPDX-License-Identifier: Apache-2.0 */
/* Arbitrary bytes as a gRPC answer, `fields NUL body`; verdicts hold what the sender counts on. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "export/sender_grpc_answer.h"
#include "export/sender_outcome.h"
#include "export/sender_protocol.h"

static void check_line(const char *text, size_t text_size)
{
	size_t i, size = strnlen(text, text_size);

	if (size == text_size)
		abort();
	for (i = 0; i < size; i++) {
		if ((unsigned char)text[i] < ' ')
			abort();
	}
}

static void check_body(const uint8_t *body, size_t size)
{
	struct sender_answer answer;

	if (sender_grpc_read_body(body, size, &answer) && answer.has_partial_success)
		abort();
	check_line(answer.message, sizeof(answer.message));
}

static void check_verdict(const struct sender_result *result)
{
	struct sender_outcome out = {0};

	sender_protocol_grpc.judge(result, &out);
	check_line(out.reason, sizeof(out.reason));
	check_line(out.answer.message, sizeof(out.answer.message));
	if (out.verdict == SENDER_STOPPED || (out.verdict != SENDER_DELIVERED && !out.reason[0]) ||
	    (out.server_asked && (out.verdict != SENDER_RETRY || out.retry_after_ms > 300000)))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const uint8_t *end = memchr(data, '\0', size);
	struct sender_result result = {
		.error = "", .status = 200, .content_type = "application/grpc"};
	struct sender_answer answer;

	result.fields = (const char *)data;
	result.fields_size = end ? (size_t)(end - data) : size;
	result.body = end ? end + 1 : data + size;
	result.body_size = end ? size - result.fields_size - 1 : 0;
	if (sender_grpc_read_fields(result.fields, result.fields_size, &answer) <
	    SENDER_GRPC_NO_STATUS)
		abort();
	check_line(answer.message, sizeof(answer.message));
	check_body(result.body, result.body_size);
	check_verdict(&result);
	result.rc = CURLE_HTTP2_STREAM;
	check_verdict(&result);
	return 0;
}
