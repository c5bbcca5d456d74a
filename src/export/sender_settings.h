/* SPDX-License-Identifier: Apache-2.0 */
/* What the OTEL_EXPORTER_OTLP_[PROFILES_]* variables and the flag say, checked; no network, no
 * files. */
#ifndef EXPORT_SENDER_SETTINGS_H
#define EXPORT_SENDER_SETTINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SENDER_HEADERS_MAX	64
#define SENDER_HEADER_BYTES_MAX 8192	/* of one header, "Name: value" */
#define SENDER_VARIABLE_MAX	65536	/* bytes of one variable */
#define SENDER_TIMEOUT_MS_MAX	3600000 /* 1 h; also what 0, "no limit", becomes */

struct sender_settings {
	char *url;	 /* requests go here; user and password are not in it */
	char *shown_url; /* for a log: clean, no query, no path that is always the same */
	char *user;	 /* from the URL, decoded; NULL none */
	char *password;
	char *headers[SENDER_HEADERS_MAX]; /* as curl takes them: "Name: value" */
	size_t header_count;
	char *ca_file; /* NULL: the system's */
	char *client_key_file;
	char *client_certificate_file;
	uint64_t timeout_ms;
	bool gzip;
	bool tls;
	bool grpc;
	bool insecure;	   /* no TLS for a gRPC endpoint without a scheme */
	bool odd_port;	   /* the port is usually that of the other protocol */
	bool path_ignored; /* the endpoint's path: gRPC has none of its own */
};

/* Like getenv, so that tests and the fuzzer can stand in for the environment. */
typedef const char *(*sender_getenv)(void *context, const char *name);

/*
 * `endpoint` is the base URL of the flag; NULL: from the environment. -ENOENT without an endpoint
 * (nothing else is looked at then), -EINVAL with one line in `why`, which never holds a secret.
 * On an error `out` is empty and closed.
 */
int sender_settings_read(const char *endpoint, sender_getenv get, void *context,
			 struct sender_settings *out, char *why, size_t why_size);
void sender_settings_close(struct sender_settings *s);

/* For the stage itself: shared by the files that read settings. */
struct sender_reading {
	sender_getenv get;
	void *context;
	struct sender_settings *out;
	char *why;
	size_t why_size;
};

/* Writes `why`; always -EINVAL. */
int sender_reading_fail(struct sender_reading *r, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/*
 * The endpoint in `text`, which `source` (a flag or variable) gave, for the protocol read before;
 * `base`: append OTLP/HTTP's path.
 */
int sender_read_url(struct sender_reading *r, const char *source, const char *text, bool base);
int sender_read_headers(struct sender_reading *r, const char *source, const char *text);

#endif
