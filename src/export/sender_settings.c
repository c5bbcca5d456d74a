/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the sender's settings: which variable wins, and the plain values among them. */
#include "export/sender_settings.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/string_table.h"

#define TIMEOUT_MS_DEFAULT 10000
#define NAME_MAX_BYTES	   64
#define LINE_MAX_BYTES	   512

int sender_reading_fail(struct sender_reading *r, const char *format, ...)
{
	char line[LINE_MAX_BYTES];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(line, sizeof(line), format, arguments);
	va_end(arguments);
	if (r->why_size)
		string_clean(r->why, r->why_size, line, strlen(line));
	return -EINVAL;
}

/*
 * The value of a variable, the one for profiles first; its name in `name`. An empty variable
 * counts as unset (OpenTelemetry specification, environment variables).
 */
static const char *lookup(struct sender_reading *r, const char *suffix, char name[NAME_MAX_BYTES])
{
	static const char *const prefixes[] = {"OTEL_EXPORTER_OTLP_PROFILES_",
					       "OTEL_EXPORTER_OTLP_"};
	const char *value;
	size_t i;

	for (i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++) {
		snprintf(name, NAME_MAX_BYTES, "%s%s", prefixes[i], suffix);
		value = r->get(r->context, name);
		if (value && *value)
			return value;
	}
	return NULL;
}

static int read_protocol(struct sender_reading *r)
{
	char name[NAME_MAX_BYTES];
	const char *value = lookup(r, "PROTOCOL", name);

	r->out->grpc = value && !strcasecmp(value, "grpc");
	if (!value || r->out->grpc || !strcasecmp(value, "http/protobuf"))
		return 0;
	if (!strcasecmp(value, "http/json"))
		return sender_reading_fail(
			r, "%s: http/json is not supported: use http/protobuf or grpc", name);
	return sender_reading_fail(r, "%s: unknown protocol '%.64s': use http/protobuf or grpc",
				   name, value);
}

static int read_compression(struct sender_reading *r)
{
	char name[NAME_MAX_BYTES];
	const char *value = lookup(r, "COMPRESSION", name);

	r->out->gzip = true;
	if (!value || !strcasecmp(value, "gzip"))
		return 0;
	r->out->gzip = false;
	if (!strcasecmp(value, "none"))
		return 0;
	return sender_reading_fail(r, "%s: unknown compression '%.64s': use gzip or none", name,
				   value);
}

static int read_timeout(struct sender_reading *r)
{
	char name[NAME_MAX_BYTES], *end = NULL;
	const char *value = lookup(r, "TIMEOUT", name);
	unsigned long long ms;

	r->out->timeout_ms = TIMEOUT_MS_DEFAULT;
	if (!value)
		return 0;
	errno = 0;
	ms = strtoull(value, &end, 10);
	if (*value < '0' || *value > '9' || errno || *end)
		return sender_reading_fail(r, "%s: '%.64s' is no number of milliseconds", name,
					   value);
	r->out->timeout_ms = !ms || ms > SENDER_TIMEOUT_MS_MAX ? SENDER_TIMEOUT_MS_MAX : ms;
	return 0;
}

/* Speaks only of gRPC endpoints without a scheme, but is checked all the same. */
static int read_insecure(struct sender_reading *r)
{
	char name[NAME_MAX_BYTES];
	const char *value = lookup(r, "INSECURE", name);

	r->out->insecure = value && !strcasecmp(value, "true");
	if (!value || r->out->insecure || !strcasecmp(value, "false"))
		return 0;
	return sender_reading_fail(r, "%s: '%.64s' is neither true nor false", name, value);
}

static int read_file(struct sender_reading *r, const char *suffix, char **out)
{
	char name[NAME_MAX_BYTES];
	const char *value = lookup(r, suffix, name);

	if (!value)
		return 0;
	if (strlen(value) >= 4096)
		return sender_reading_fail(r, "%s: path too long", name);
	*out = strdup(value);
	return *out ? 0 : -ENOMEM;
}

static int read_files(struct sender_reading *r)
{
	struct sender_settings *s = r->out;
	int err;

	err = read_file(r, "CERTIFICATE", &s->ca_file);
	if (!err)
		err = read_file(r, "CLIENT_KEY", &s->client_key_file);
	if (!err)
		err = read_file(r, "CLIENT_CERTIFICATE", &s->client_certificate_file);
	if (!err && !s->client_key_file != !s->client_certificate_file)
		err = sender_reading_fail(r, "OTEL_EXPORTER_OTLP_CLIENT_KEY and _CLIENT_CERTIFICATE"
					     " must be given together");
	return err;
}

static int read_endpoint(struct sender_reading *r, const char *flag)
{
	char name[NAME_MAX_BYTES] = "--otlp-endpoint";
	const char *value = flag ? flag : lookup(r, "ENDPOINT", name);
	int err;

	if (!value)
		return -ENOENT;
	/* They say how it is to be read. */
	err = read_protocol(r);
	if (!err)
		err = read_insecure(r);
	if (err)
		return err;
	return sender_read_url(r, name, value,
			       flag || !strcmp(name, "OTEL_EXPORTER_OTLP_ENDPOINT"));
}

static int read_all(struct sender_reading *r, const char *endpoint)
{
	char name[NAME_MAX_BYTES];
	const char *headers;
	int err;

	err = read_endpoint(r, endpoint);
	if (!err)
		err = read_compression(r);
	if (!err)
		err = read_timeout(r);
	if (!err)
		err = read_files(r);
	headers = err ? NULL : lookup(r, "HEADERS", name);
	if (headers)
		err = sender_read_headers(r, name, headers);
	return err;
}

int sender_settings_read(const char *endpoint, sender_getenv get, void *context,
			 struct sender_settings *out, char *why, size_t why_size)
{
	struct sender_reading reading = {get, context, out, why, why_size};
	int err;

	memset(out, 0, sizeof(*out));
	if (why_size)
		why[0] = '\0';
	err = read_all(&reading, endpoint);
	if (err == -ENOMEM && why_size)
		snprintf(why, why_size, "out of memory");
	if (err)
		sender_settings_close(out);
	return err;
}

void sender_settings_close(struct sender_settings *s)
{
	size_t i;

	for (i = 0; i < s->header_count; i++)
		free(s->headers[i]);
	free(s->url);
	free(s->shown_url);
	free(s->user);
	free(s->password);
	free(s->ca_file);
	free(s->client_key_file);
	free(s->client_certificate_file);
	memset(s, 0, sizeof(*s));
}
