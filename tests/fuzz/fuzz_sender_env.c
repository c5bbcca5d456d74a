/* SPDX-License-Identifier: Apache-2.0 */
/* Arbitrary OTEL_* variables, one `SUFFIX=value` a line; a first line without '=' is the flag. */
#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "export/sender_settings.h"

#define LINES_MAX 32

struct environment {
	char *lines[LINES_MAX];
	size_t count;
};

static const char *find(void *context, const char *name)
{
	const struct environment *e = context;
	size_t i, size;

	name += strlen("OTEL_EXPORTER_OTLP_");
	size = strlen(name);
	for (i = 0; i < e->count; i++) {
		if (!strncmp(e->lines[i], name, size) && e->lines[i][size] == '=')
			return e->lines[i] + size + 1;
	}
	return NULL;
}

/* What every caller counts on. */
static void check(int err, const struct sender_settings *s, const char *why)
{
	size_t i;

	if (err) {
		if (s->url || s->header_count || (err == -EINVAL && !why[0]) || strchr(why, '\n'))
			abort();
		return;
	}
	if (strncmp(s->url, "http", 4) || strchr(s->shown_url, '?') || !s->timeout_ms)
		abort();
	if (s->grpc && (!strstr(s->url, ".v1development.ProfilesService/Export") ||
			!strstr(s->shown_url, " over gRPC")))
		abort();
	for (i = 0; i < s->header_count; i++) {
		if (strpbrk(s->headers[i], "\r\n") ||
		    (s->grpc && !strncmp(s->headers[i], "grpc-", 5)))
			abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct environment environment = {0};
	struct sender_settings settings;
	const char *flag = NULL;
	char why[160], *text, *line, *rest;
	int err;

	text = malloc(size + 1);
	if (!text)
		return 0;
	memcpy(text, data, size);
	text[size] = '\0';
	rest = text;
	while (environment.count < LINES_MAX && (line = strsep(&rest, "\n"))) {
		if (line == text && !strchr(line, '='))
			flag = line;
		else
			environment.lines[environment.count++] = line;
	}
	err = sender_settings_read(flag, find, &environment, &settings, why, sizeof(why));
	check(err, &settings, why);
	sender_settings_close(&settings);
	free(text);
	return 0;
}
