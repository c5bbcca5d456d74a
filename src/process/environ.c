/* SPDX-License-Identifier: Apache-2.0 */
/* OTEL_* variables as the Go SDK reads them: the first of equal names, the last of equal keys. */
#include "process/environ.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "base/hex.h"
#include "process/identity_private.h"

/* Encoded values are cut here: 256 bytes of which each may be written as %XX. */
#define ENCODED_BYTES_MAX 768

struct text {
	const char *at;
	size_t size;
};

static struct text trim(struct text t)
{
	while (t.size && isspace((unsigned char)t.at[0])) {
		t.at++;
		t.size--;
	}
	while (t.size && isspace((unsigned char)t.at[t.size - 1]))
		t.size--;
	return t;
}

/* The part before `separator`, which is taken off `rest` together with it. */
static struct text take_until(struct text *rest, char separator)
{
	const char *end = rest->size ? memchr(rest->at, separator, rest->size) : NULL;
	struct text part = *rest;

	if (!end) {
		rest->at += rest->size;
		rest->size = 0;
		return part;
	}
	part.size = (size_t)(end - rest->at);
	rest->at = end + 1;
	rest->size -= part.size + 1;
	return part;
}

static bool equals(struct text t, const char *s)
{
	return t.size == strlen(s) && !memcmp(t.at, s, t.size);
}

/* Undoes percent-encoding; a value with a malformed escape stays as it is. */
static struct text percent_decode(struct text t, char *to)
{
	size_t size = 0;

	for (size_t i = 0; i < t.size && i < ENCODED_BYTES_MAX; i++) {
		if (t.at[i] == '%') {
			int high = i + 2 < t.size ? hex_digit(t.at[i + 1]) : -1;
			int low = i + 2 < t.size ? hex_digit(t.at[i + 2]) : -1;

			if (high < 0 || low < 0)
				return t;
			to[size++] = (char)(high << 4 | low);
			i += 2;
		} else {
			to[size++] = t.at[i];
		}
	}
	return (struct text){.at = to, .size = size};
}

static void parse_resource_attributes(struct text list, struct identity *out)
{
	char decoded[ENCODED_BYTES_MAX];

	while (list.size) {
		struct text value = take_until(&list, ',');
		struct text key = trim(take_until(&value, '='));

		for (size_t i = 0; i < IDENTITY_SERVICE_KEYS; i++) {
			struct text clear;

			if (!equals(key, identity_service_keys[i]))
				continue;
			clear = percent_decode(trim(value), decoded);
			identity_set(out, identity_service_keys[i], clear.at, clear.size);
		}
	}
}

int environ_parse(const void *data, size_t size, struct identity *out)
{
	struct text all = {.at = size ? data : "", .size = size};
	struct text service_name = {0}, attributes = {0};
	bool opted_out = false, seen_opt = false;

	while (all.size) {
		struct text value = take_until(&all, '\0');
		struct text name = take_until(&value, '=');

		if (!service_name.at && equals(name, "OTEL_SERVICE_NAME")) {
			service_name = value;
		} else if (!attributes.at && equals(name, "OTEL_RESOURCE_ATTRIBUTES")) {
			attributes = value;
		} else if (!seen_opt && equals(name, "SPANPROF")) {
			opted_out = equals(value, "off");
			seen_opt = true;
		}
	}
	if (opted_out)
		return -ECANCELED;
	parse_resource_attributes(attributes, out);
	service_name = trim(service_name);
	if (service_name.size)
		identity_set(out, "service.name", service_name.at, service_name.size);
	return 0;
}
