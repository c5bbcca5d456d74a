/* SPDX-License-Identifier: Apache-2.0 */
/* Reads what a stranger sends as gRPC; bounded, and never more than the answer itself. */
#include "export/sender_grpc_answer.h"

#include <errno.h>
#include <string.h>
#include <strings.h>

#include "base/bytes.h"
#include "base/gzip.h"
#include "base/hex.h"
#include "base/string_table.h"

/* Of an encoded message, as much as may be shown. */
#define MESSAGE_BYTES_MAX 1024
/* Of google.rpc.Status; proxies let no more through. */
#define DETAILS_BYTES_MAX 8192
/* Of a compressed answer. */
#define ANSWER_BYTES_MAX 16384

struct text {
	const char *at;
	size_t size;
};

const char *sender_grpc_status_name(int status)
{
	static const char *const names[] = {
		"OK",
		"CANCELLED",
		"UNKNOWN",
		"INVALID_ARGUMENT",
		"DEADLINE_EXCEEDED",
		"NOT_FOUND",
		"ALREADY_EXISTS",
		"PERMISSION_DENIED",
		"RESOURCE_EXHAUSTED",
		"FAILED_PRECONDITION",
		"ABORTED",
		"OUT_OF_RANGE",
		"UNIMPLEMENTED",
		"INTERNAL",
		"UNAVAILABLE",
		"DATA_LOSS",
		"UNAUTHENTICATED",
	};

	if (status < 0 || (size_t)status >= sizeof(names) / sizeof(names[0]))
		return NULL;
	return names[status];
}

/* The value of the last line with that name; false: there is none. */
static bool find(struct text lines, const char *name, struct text *out)
{
	const char *end = lines.at + lines.size, *line = lines.at, *stop, *value;
	size_t name_size = strlen(name);
	bool found = false;

	for (; line < end; line = stop + 1) {
		stop = memchr(line, '\n', (size_t)(end - line));
		stop = stop ? stop : end;
		if ((size_t)(stop - line) <= name_size || line[name_size] != ':' ||
		    strncasecmp(line, name, name_size))
			continue;
		value = line + name_size + 1;
		while (value < stop && (*value == ' ' || *value == '\t'))
			value++;
		*out = (struct text){value, (size_t)(stop - value)};
		found = true;
	}
	return found;
}

static int read_number(struct text value)
{
	int number = 0;
	size_t i;

	if (!value.size || value.size > 4)
		return SENDER_GRPC_UNKNOWN;
	for (i = 0; i < value.size; i++) {
		if (value.at[i] < '0' || value.at[i] > '9')
			return SENDER_GRPC_UNKNOWN;
		number = 10 * number + (value.at[i] - '0');
	}
	return number;
}

/* A malformed escape stays as it is: the message is for a reader, not for a program. */
static void decode_message(struct text value, char to[SENDER_MESSAGE_MAX])
{
	char plain[MESSAGE_BYTES_MAX];
	size_t i, used = 0;
	int high, low;

	for (i = 0; i < value.size && used < sizeof(plain); i++) {
		high = value.size - i > 2 ? hex_digit(value.at[i + 1]) : -1;
		low = value.size - i > 2 ? hex_digit(value.at[i + 2]) : -1;
		plain[used] = value.at[i];
		if (value.at[i] == '%' && high >= 0 && low >= 0) {
			plain[used] = (char)(high << 4 | low);
			i += 2;
		}
		used++;
	}
	string_clean(to, SENDER_MESSAGE_MAX, plain, used);
}

static int base64_digit(char c)
{
	if (c >= 'A' && c <= 'Z')
		return c - 'A';
	if (c >= 'a' && c <= 'z')
		return c - 'a' + 26;
	if (c >= '0' && c <= '9')
		return c - '0' + 52;
	if (c == '+')
		return 62;
	return c == '/' ? 63 : -1;
}

/* Padding may be left out; behind a comma stands another value. -EBADMSG: not base64, too long. */
static int decode_base64(struct text value, uint8_t *to, size_t to_size, size_t *size)
{
	uint32_t bits = 0;
	unsigned count = 0;
	size_t i;
	int digit;

	*size = 0;
	for (i = 0; i < value.size && !strchr("=, ", value.at[i]); i++) {
		digit = base64_digit(value.at[i]);
		if (digit < 0)
			return -EBADMSG;
		bits = bits << 6 | (uint32_t)digit;
		count += 6;
		if (count < 8)
			continue;
		if (*size == to_size)
			return -EBADMSG;
		count -= 8;
		to[(*size)++] = (uint8_t)(bits >> count);
	}
	return 0;
}

int sender_grpc_read_fields(const char *lines, size_t size, struct sender_answer *out)
{
	const struct text all = {lines, size};
	uint8_t details[DETAILS_BYTES_MAX];
	struct text value;
	size_t details_size;

	memset(out, 0, sizeof(*out));
	if (find(all, "grpc-status-details-bin", &value) &&
	    !decode_base64(value, details, sizeof(details), &details_size))
		sender_answer_read_status(details, details_size, out);
	if (find(all, "grpc-message", &value) && value.size)
		decode_message(value, out->message);
	return find(all, "grpc-status", &value) ? read_number(value) : SENDER_GRPC_NO_STATUS;
}

int sender_grpc_read_body(const void *body, size_t size, struct sender_answer *out)
{
	struct bytes b = bytes_over(body, size);
	const void *message;
	struct buffer plain;
	uint8_t compressed;
	size_t length;
	int err;

	memset(out, 0, sizeof(*out));
	if (!size)
		return 0;
	compressed = bytes_u8(&b);
	length = __builtin_bswap32(bytes_u32(&b)); /* big endian on the wire */
	if (b.failed || compressed > 1 || length != bytes_left(&b))
		return -EBADMSG;
	message = bytes_take(&b, length);
	if (!compressed || !length)
		return sender_answer_read(message, length, out);
	buffer_open(&plain, ANSWER_BYTES_MAX);
	err = gzip_unpack(message, length, &plain)
		      ? -EBADMSG
		      : sender_answer_read(plain.data, plain.size, out);
	buffer_close(&plain);
	return err;
}
