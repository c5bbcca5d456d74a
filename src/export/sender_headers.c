/* SPDX-License-Identifier: Apache-2.0 */
/* Reads OTEL_EXPORTER_OTLP_HEADERS: `name=value,name2=value2`, values percent-encoded. */
#include "export/sender_settings.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/hex.h"

struct text {
	const char *at;
	size_t size;
};

static bool is_blank(char c)
{
	return c == ' ' || c == '\t';
}

static struct text trim(const char *at, size_t size)
{
	while (size && is_blank(*at)) {
		at++;
		size--;
	}
	while (size && is_blank(at[size - 1]))
		size--;
	return (struct text){at, size};
}

static bool is_letter_or_digit(char c)
{
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* A header name is a token (RFC 9110 section 5.6.2), that of gRPC metadata has less signs. */
static bool is_name(struct text name, bool grpc)
{
	const char *signs = grpc ? "-._" : "!#$%&'*+-.^_`|~";
	size_t i;

	for (i = 0; i < name.size; i++) {
		if (!is_letter_or_digit(name.at[i]) && (!name.at[i] || !strchr(signs, name.at[i])))
			return false;
	}
	return name.size > 0;
}

/* Headers that say how the body is made: another value would make every request wrong. */
static bool is_ours(struct text name, bool grpc)
{
	static const char *const ours[] = {"content-type",
					   "content-encoding",
					   "content-length",
					   "transfer-encoding",
					   "expect",
					   "connection",
					   "accept-encoding",
					   "te",
					   "trailer",
					   "upgrade",
					   "otlp-profiles-development-version"};
	size_t i;

	if (grpc && name.size >= 5 && !strncasecmp(name.at, "grpc-", 5))
		return true;
	for (i = 0; i < sizeof(ours) / sizeof(ours[0]); i++) {
		if (strlen(ours[i]) == name.size && !strncasecmp(ours[i], name.at, name.size))
			return true;
	}
	return false;
}

/* HTTP allows tabs and bytes that are no ASCII, gRPC metadata does not. */
static bool is_value_byte(unsigned char c, bool grpc)
{
	if (grpc)
		return c >= ' ' && c < 0x7f;
	return (c >= ' ' || c == '\t') && c != 0x7f;
}

/* Decodes to `to`; false: bad encoding or a byte no header may hold. */
static bool decode(char *to, struct text value, bool grpc)
{
	size_t i, used = 0;
	int high, low;
	char c;

	for (i = 0; i < value.size; i++) {
		c = value.at[i];
		if (c == '%') {
			if (value.size - i < 3)
				return false;
			high = hex_digit(value.at[i + 1]);
			low = hex_digit(value.at[i + 2]);
			if (high < 0 || low < 0)
				return false;
			c = (char)(high << 4 | low);
			i += 2;
		}
		if (!is_value_byte((unsigned char)c, grpc))
			return false;
		to[used++] = c;
	}
	to[used] = '\0';
	return true;
}

static int add_header(struct sender_reading *r, const char *source, struct text name,
		      struct text value)
{
	struct sender_settings *s = r->out;
	int shown = name.size > 64 ? 64 : (int)name.size;
	char *line;
	size_t i;

	if (!is_name(name, s->grpc))
		return sender_reading_fail(r, "%s: '%.*s' is no header name", source, shown,
					   name.at);
	if (is_ours(name, s->grpc))
		return sender_reading_fail(r, "%s: header %.*s is set by spanprof itself", source,
					   shown, name.at);
	if (s->header_count == SENDER_HEADERS_MAX)
		return sender_reading_fail(r, "%s: more than %d headers", source,
					   SENDER_HEADERS_MAX);
	if (name.size + value.size > SENDER_HEADER_BYTES_MAX)
		return sender_reading_fail(r, "%s: header %.*s is too long", source, shown,
					   name.at);
	line = malloc(name.size + value.size + 3);
	if (!line)
		return -ENOMEM;
	/* curl reads "Name:" as "remove this header" and "Name;" as one with an empty value. */
	for (i = 0; i < name.size; i++)
		line[i] = s->grpc ? (char)tolower(name.at[i]) : name.at[i];
	memcpy(line + name.size, value.size ? ": " : ";", value.size ? 3 : 2);
	if (value.size && !decode(line + name.size + 2, value, s->grpc)) {
		free(line);
		return sender_reading_fail(r, "%s: value of %.*s is not properly percent-encoded",
					   source, shown, name.at);
	}
	s->headers[s->header_count++] = line;
	return 0;
}

int sender_read_headers(struct sender_reading *r, const char *source, const char *text)
{
	const char *at = text, *equals;
	struct text pair;
	size_t size;
	int err = 0;

	if (strnlen(text, SENDER_VARIABLE_MAX + 1) > SENDER_VARIABLE_MAX)
		return sender_reading_fail(r, "%s: longer than %d bytes", source,
					   SENDER_VARIABLE_MAX);
	while (*at && !err) {
		size = strcspn(at, ",");
		pair = trim(at, size);
		at += size + (at[size] == ',');
		if (!pair.size)
			continue;
		equals = memchr(pair.at, '=', pair.size);
		/* The pair is not shown: it may be a secret on its own. */
		if (!equals)
			return sender_reading_fail(r, "%s: expected name=value,name2=value2",
						   source);
		err = add_header(r, source, trim(pair.at, (size_t)(equals - pair.at)),
				 trim(equals + 1, pair.size - (size_t)(equals + 1 - pair.at)));
	}
	return err;
}
