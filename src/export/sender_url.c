/* SPDX-License-Identifier: Apache-2.0 */
/* Reads an OTLP endpoint: scheme, path to post to, credentials apart, and a form fit for a log. */
#include "export/sender_settings.h"

#include <curl/curl.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/string_table.h"

#define PROFILES_PATH "/v1development/profiles"
#define PROFILES_METHOD                                                                            \
	"/opentelemetry.proto.collector.profiles.v1development.ProfilesService/Export"
#define URL_MAX 2048

/*
 * An endpoint for a message: scheme, then what follows the last '@' (a password may hold any
 * character before it), without the query, which may hold a token.
 */
static void show(const char *text, char *to, size_t to_size)
{
	const char *start = strstr(text, "://"), *host;
	size_t scheme, size, host_size;

	start = start ? start + 3 : text;
	scheme = (size_t)(start - text);
	host = strrchr(start, '@');
	host = host ? host + 1 : start;
	host_size = strcspn(host, "?#");
	size = string_clean(to, to_size, text, scheme > 16 ? 16 : scheme);
	string_clean(to + size, to_size - size, host, host_size > 200 ? 200 : host_size);
}

static bool is_scheme(const char *text, const char *scheme)
{
	size_t size = strlen(scheme);

	return !strncasecmp(text, scheme, size) && !strncmp(text + size, "://", 3);
}

static int check_text(struct sender_reading *r, const char *source, const char *text)
{
	char shown[256];
	const char *at;

	if (strlen(text) > URL_MAX)
		return sender_reading_fail(r, "%s: URL longer than %d bytes", source, URL_MAX);
	show(text, shown, sizeof(shown));
	for (at = text; *at; at++) {
		if ((unsigned char)*at <= ' ' || *at == 0x7f)
			return sender_reading_fail(r, "%s: '%s' has a space or control character",
						   source, shown);
	}
	/* unix:/run/otlp.sock is a target for gRPC's own libraries, and no host for libcurl. */
	if (!strstr(text, "://") && r->out->grpc)
		return strchr(text, '/')
			       ? sender_reading_fail(r, "%s: '%s' is neither host:port nor a URL",
						     source, shown)
			       : 0;
	if (!strstr(text, "://"))
		return sender_reading_fail(r, "%s: '%s' has no scheme: write http://%s", source,
					   shown, shown);
	if (!is_scheme(text, "http") && !is_scheme(text, "https"))
		return sender_reading_fail(r, "%s: '%s': scheme must be http or https", source,
					   shown);
	return 0;
}

/* The part as a string of our own, NULL when the URL has none. */
static int get_part(CURLU *url, CURLUPart part, unsigned flags, char **out)
{
	char *text = NULL;
	CURLUcode rc = curl_url_get(url, part, &text, flags);

	*out = NULL;
	if (rc == CURLUE_OUT_OF_MEMORY)
		return -ENOMEM;
	if (rc != CURLUE_OK || !text)
		return 0;
	*out = strdup(text);
	curl_free(text);
	return *out ? 0 : -ENOMEM;
}

/* Moves user and password out of the URL, so that it can be shown and never leaks. */
static int take_credentials(struct sender_settings *s, CURLU *url)
{
	int err = get_part(url, CURLUPART_USER, CURLU_URLDECODE, &s->user);

	if (!err)
		err = get_part(url, CURLUPART_PASSWORD, CURLU_URLDECODE, &s->password);
	if (err)
		return err;
	if (curl_url_set(url, CURLUPART_USER, NULL, 0) ||
	    curl_url_set(url, CURLUPART_PASSWORD, NULL, 0) ||
	    curl_url_set(url, CURLUPART_FRAGMENT, NULL, 0))
		return -ENOMEM;
	return 0;
}

/* A base URL gets the path of the signal, once: users paste the whole URL as well. */
static int append_path(CURLU *url)
{
	char path[URL_MAX + sizeof(PROFILES_PATH)], *old = NULL;
	size_t size, tail = sizeof(PROFILES_PATH) - 1;
	int err = get_part(url, CURLUPART_PATH, 0, &old);

	if (err)
		return err;
	size = old ? strlen(old) : 0;
	while (size && old[size - 1] == '/')
		size--;
	if (size >= tail && !memcmp(old + size - tail, PROFILES_PATH, tail))
		size -= tail;
	snprintf(path, sizeof(path), "%.*s%s", (int)size, old ? old : "", PROFILES_PATH);
	free(old);
	return curl_url_set(url, CURLUPART_PATH, path, 0) ? -ENOMEM : 0;
}

/* Only host and port of a gRPC endpoint count: the path is the method's name. */
static int take_method(struct sender_settings *s, CURLU *url)
{
	char *path = NULL, *query = NULL;
	int err = get_part(url, CURLUPART_PATH, 0, &path);

	if (!err)
		err = get_part(url, CURLUPART_QUERY, 0, &query);
	s->path_ignored = query || (path && strcmp(path, "/") && strcmp(path, PROFILES_METHOD));
	free(path);
	free(query);
	if (err)
		return err;
	return curl_url_set(url, CURLUPART_QUERY, NULL, 0) ||
			       curl_url_set(url, CURLUPART_PATH, PROFILES_METHOD, 0)
		       ? -ENOMEM
		       : 0;
}

static int show_url(struct sender_settings *s)
{
	const char *end = strstr(s->url, s->grpc ? PROFILES_METHOD : "?");
	size_t size = end ? (size_t)(end - s->url) : strlen(s->url);
	char shown[512];

	size = string_clean(shown, sizeof(shown) - sizeof(" over gRPC"), s->url, size);
	if (s->grpc)
		strcpy(shown + size, " over gRPC");
	s->shown_url = strdup(shown);
	return s->shown_url ? 0 : -ENOMEM;
}

static int finish(struct sender_settings *s, CURLU *url)
{
	char *port = NULL, *scheme = NULL;
	int err;

	err = get_part(url, CURLUPART_PORT, CURLU_DEFAULT_PORT, &port);
	if (!err)
		err = get_part(url, CURLUPART_SCHEME, 0, &scheme);
	if (!err)
		err = get_part(url, CURLUPART_URL, 0, &s->url);
	if (!err && (!s->url || !port || !scheme))
		err = -EINVAL;
	if (!err) {
		s->odd_port = !strcmp(port, s->grpc ? "4318" : "4317");
		s->tls = !strcasecmp(scheme, "https");
		err = show_url(s);
	}
	free(port);
	free(scheme);
	return err;
}

static CURLUcode parse(const struct sender_settings *s, CURLU *url, const char *text)
{
	char full[URL_MAX + sizeof("https://")];

	if (s->grpc && !strstr(text, "://")) {
		snprintf(full, sizeof(full), "%s://%s", s->insecure ? "http" : "https", text);
		text = full;
	}
	return curl_url_set(url, CURLUPART_URL, text, 0);
}

int sender_read_url(struct sender_reading *r, const char *source, const char *text, bool base)
{
	char shown[256];
	CURLUcode rc;
	CURLU *url;
	int err;

	err = check_text(r, source, text);
	if (err)
		return err;
	url = curl_url();
	if (!url)
		return -ENOMEM;
	rc = parse(r->out, url, text);
	if (rc) {
		show(text, shown, sizeof(shown));
		err = rc == CURLUE_OUT_OF_MEMORY
			      ? -ENOMEM
			      : sender_reading_fail(r, "%s: '%s': %s", source, shown,
						    curl_url_strerror(rc));
	}
	if (!err)
		err = take_credentials(r->out, url);
	if (!err && r->out->grpc)
		err = take_method(r->out, url);
	else if (!err && base)
		err = append_path(url);
	if (!err)
		err = finish(r->out, url);
	if (err == -EINVAL && r->why_size && !r->why[0])
		sender_reading_fail(r, "%s: not a usable URL", source);
	curl_url_cleanup(url);
	return err;
}
