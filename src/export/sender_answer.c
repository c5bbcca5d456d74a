/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the small protobuf messages that a receiver answers with; all come from strangers. */
#include "export/sender_answer.h"

#include <errno.h>
#include <string.h>

#include "base/bytes.h"
#include "base/string_table.h"

/* A longer delay is as good as this one. */
#define DELAY_S_MAX 86400

enum wire_type { WIRE_VARINT = 0, WIRE_FIXED64 = 1, WIRE_BYTES = 2, WIRE_FIXED32 = 5 };

/* One field: a number or a string of bytes. */
struct field {
	uint64_t number;
	uint64_t value;	     /* WIRE_VARINT */
	const uint8_t *data; /* WIRE_BYTES, never NULL then */
	size_t size;
	enum wire_type type;
};

/* False at the end, and with b->failed set when the bytes are no protobuf. */
static bool next_field(struct bytes *b, struct field *out)
{
	uint64_t tag;

	if (b->failed || !bytes_left(b))
		return false;
	tag = bytes_uvarint(b);
	memset(out, 0, sizeof(*out));
	out->number = tag >> 3;
	out->type = (enum wire_type)(tag & 7);
	switch (out->type) {
	case WIRE_VARINT:
		out->value = bytes_uvarint(b);
		break;
	case WIRE_FIXED64:
		bytes_skip(b, 8);
		break;
	case WIRE_FIXED32:
		bytes_skip(b, 4);
		break;
	case WIRE_BYTES:
		out->size = bytes_uvarint(b);
		out->data = b->failed ? NULL : bytes_take(b, out->size);
		break;
	default:
		b->failed = true;
	}
	if (!out->number || out->number > 0x1fffffff)
		b->failed = true;
	return !b->failed;
}

static void take_message(const struct field *f, struct sender_answer *out)
{
	string_clean(out->message, sizeof(out->message), (const char *)f->data, f->size);
}

/* ExportProfilesPartialSuccess: rejected_profiles = 1, error_message = 2. */
static int read_partial_success(const struct field *outer, struct sender_answer *out)
{
	struct bytes b = bytes_over(outer->data, outer->size);
	struct field f;

	while (next_field(&b, &f)) {
		if (f.number == 1 && f.type == WIRE_VARINT && (int64_t)f.value > 0)
			out->rejected_profiles = f.value;
		else if (f.number == 2 && f.type == WIRE_BYTES)
			take_message(&f, out);
	}
	out->has_partial_success = out->rejected_profiles || out->message[0];
	return b.failed ? -EBADMSG : 0;
}

int sender_answer_read(const void *data, size_t size, struct sender_answer *out)
{
	struct bytes b = bytes_over(data, size);
	struct field f;
	int err = 0;

	memset(out, 0, sizeof(*out));
	while (!err && next_field(&b, &f)) {
		if (f.number == 1 && f.type == WIRE_BYTES)
			err = read_partial_success(&f, out);
	}
	if (b.failed)
		err = -EBADMSG;
	if (err)
		memset(out, 0, sizeof(*out));
	return err;
}

/* google.protobuf.Duration: seconds = 1, nanos = 2, either may be negative. */
static int read_duration(const struct field *outer, uint64_t *out_ms)
{
	struct bytes b = bytes_over(outer->data, outer->size);
	int64_t seconds = 0, nanos = 0;
	struct field f;

	while (next_field(&b, &f)) {
		if (f.number == 1 && f.type == WIRE_VARINT)
			seconds = (int64_t)f.value;
		else if (f.number == 2 && f.type == WIRE_VARINT)
			nanos = (int64_t)f.value;
	}
	if (seconds < 0 || nanos < 0 || nanos >= 1000000000)
		seconds = nanos = 0;
	if (seconds > DELAY_S_MAX)
		seconds = DELAY_S_MAX;
	*out_ms = (uint64_t)seconds * 1000 + (uint64_t)(nanos + 999999) / 1000000;
	return b.failed ? -EBADMSG : 0;
}

/* google.rpc.RetryInfo: retry_delay = 1. */
static int read_retry_info(const struct field *outer, struct sender_answer *out)
{
	struct bytes b = bytes_over(outer->data, outer->size);
	struct field f;
	int err = 0;

	out->has_retry_info = true;
	while (!err && next_field(&b, &f)) {
		if (f.number == 1 && f.type == WIRE_BYTES)
			err = read_duration(&f, &out->retry_delay_ms);
	}
	return b.failed ? -EBADMSG : err;
}

/* google.protobuf.Any: type_url = 1, value = 2, in any order; a value of "" may be left out. */
static int read_detail(const struct field *outer, struct sender_answer *out)
{
	static const char wanted[] = "/google.rpc.RetryInfo";
	const size_t wanted_size = sizeof(wanted) - 1;
	struct bytes b = bytes_over(outer->data, outer->size);
	struct field f, value = {0};
	bool is_retry_info = false;

	while (next_field(&b, &f)) {
		if (f.number == 1 && f.type == WIRE_BYTES)
			is_retry_info = f.size >= wanted_size &&
					!memcmp(f.data + f.size - wanted_size, wanted, wanted_size);
		else if (f.number == 2 && f.type == WIRE_BYTES)
			value = f;
	}
	if (b.failed)
		return -EBADMSG;
	return is_retry_info ? read_retry_info(&value, out) : 0;
}

int sender_answer_read_status(const void *data, size_t size, struct sender_answer *out)
{
	struct bytes b = bytes_over(data, size);
	struct field f;
	int err = 0;

	memset(out, 0, sizeof(*out));
	while (!err && next_field(&b, &f)) {
		if (f.number == 2 && f.type == WIRE_BYTES)
			take_message(&f, out);
		else if (f.number == 3 && f.type == WIRE_BYTES)
			err = read_detail(&f, out);
	}
	if (b.failed)
		err = -EBADMSG;
	if (err)
		memset(out, 0, sizeof(*out));
	return err;
}

void sender_answer_read_text(const void *data, size_t size, struct sender_answer *out)
{
	const char *text = data;
	size_t end = 0;

	memset(out, 0, sizeof(*out));
	while (end < size && text[end] != '\n' && text[end] != '\r')
		end++;
	string_clean(out->message, sizeof(out->message), text, end);
}
