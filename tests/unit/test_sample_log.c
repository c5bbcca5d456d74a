/* SPDX-License-Identifier: Apache-2.0 */
/* What -o FILE.jsonl holds: whole lines, whole names, valid UTF-8. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <spanprof/record.h>
#include <unistd.h>

#include "agent/sample_log.h"
#include "agent/span_sights.h"
#include "base/location.h"
#include "base/string_table.h"

#define TEXT_SIZE 16384

/* A location of one or two frames. */
struct scene {
	struct location location;
	struct frame frames[2];
};

_Static_assert(offsetof(struct scene, frames) == sizeof(struct location), "one flexible array");

/* What stands in a file to which `add` added. */
static void written_by(void (*add)(struct sample_log *log, const void *what), const void *what,
		       char *text)
{
	char folder[] = "/tmp/test_sample_log.XXXXXX", path[64];
	struct sample_log *log;
	FILE *file;

	assert_non_null(mkdtemp(folder));
	snprintf(path, sizeof(path), "%s/a.jsonl", folder);
	assert_int_equal(sample_log_open(path, &log), 0);
	add(log, what);
	assert_int_equal(sample_log_commit(log), 0);
	sample_log_close(log);
	file = fopen(path, "r");
	assert_non_null(file);
	text[fread(text, 1, TEXT_SIZE - 1, file)] = '\0';
	fclose(file);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(rmdir(folder), 0);
}

static void add_sample(struct sample_log *log, const void *location)
{
	struct sample_record sample = {.pid = 7, .tid = 8, .goid = 9, .time_ns = 10};
	struct sampled_span span = {.answer = SPAN_ANSWER_NONE};
	const struct location *const locations[] = {location};

	sample_log_add(log, &sample, &span, locations, 1, false);
}

/* The line that a sample with this location becomes. */
static void written(const struct location *location, char *text)
{
	written_by(add_sample, location, text);
}

/* Reads one JSON string at `at` into `to`; what follows it. */
static const char *unquote(const char *at, char *to)
{
	assert_int_equal(*at++, '"');
	while (*at != '"') {
		if (*at == '\\')
			at++;
		assert_int_not_equal(*at, '\0');
		*to++ = *at++;
	}
	*to = '\0';
	return at + 1;
}

static void test_line(void **state)
{
	struct scene s = {.location.frame_count = 2,
			  .frames = {{.function = "main.a\"b\\", .file = "c\\d.go", .line = 3},
				     {.function = "main.main", .file = "", .line = 0}}};
	char text[TEXT_SIZE];

	written(&s.location, text);
	assert_string_equal(
		text,
		"{\"time_ns\":10,\"pid\":7,\"tid\":8,\"goid\":9,\"flags\":0,"
		"\"truncated\":false,\"inherited\":false,\"source\":\"none\",\"trace_id\":\"\","
		"\"span_id\":\"\",\"stack\":[\"main.a\\\"b\\\\ c\\\\d.go:3\","
		"\"main.main :0\"]}\n");
}

/* Names of generic functions are that long; file and line stand behind them. */
static void test_long_name(void **state)
{
	static char name[3001];
	struct scene s = {.location.frame_count = 1,
			  .frames = {{.function = name, .file = "/srv/shop.go", .line = 4321}}};
	char text[TEXT_SIZE], frame[TEXT_SIZE], clean[TEXT_SIZE];
	const char *rest;
	size_t size;

	/* Two bytes each: a buffer of whatever even size, and its last byte 0, would part one. */
	memset(name, 'x', sizeof(name) - 1);
	for (size_t i = 100; i + 2 < sizeof(name); i += 2)
		memcpy(name + i, "\xc3\xa9", 2);
	written(&s.location, text);
	size = strlen(text);
	assert_int_equal(string_clean(clean, sizeof(clean), text, size - 1), size - 1);
	assert_memory_equal(clean, text, size - 1); /* nothing was invalid */
	rest = strstr(text, "\"stack\":[");
	assert_non_null(rest);
	rest = unquote(rest + strlen("\"stack\":["), frame);
	assert_string_equal(rest, "]}\n");
	assert_memory_equal(frame, name, sizeof(name) - 1);
	assert_string_equal(frame + sizeof(name) - 1, " /srv/shop.go:4321");
}

static void add_in_span(struct sample_log *log, const void *span)
{
	struct sample_record sample = {.pid = 7, .tid = 8, .goid = 9, .time_ns = 10};

	sample_log_add(log, &sample, span, NULL, 0, true);
}

/* How a sample came by its span, in a word. */
static void test_sources(void **state)
{
	static const char *const words[] = {"own", "inherited", "older", "stack", "labels", "map"};
	struct sampled_span span = {.answer = SPAN_ANSWER_SPAN};
	char text[TEXT_SIZE], expected[64];

	memset(span.sight.trace_id, 0xa5, sizeof(span.sight.trace_id));
	memset(span.sight.span_id, 0x0b, sizeof(span.sight.span_id));
	for (uint8_t source = 0; source < SPAN_SOURCE_COUNT; source++) {
		span.source = source;
		written_by(add_in_span, &span, text);
		snprintf(expected, sizeof(expected), "\"inherited\":%s,\"source\":\"%s\",",
			 source == SPAN_INHERITED ? "true" : "false", words[source]);
		assert_non_null(strstr(text, expected));
		assert_non_null(strstr(text, "\"truncated\":true"));
		assert_non_null(strstr(text, "\"trace_id\":\"a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5\""));
		assert_non_null(strstr(text, "\"span_id\":\"0b0b0b0b0b0b0b0b\""));
	}
	span.source = SPAN_INHERITED;
	span.answer = SPAN_ANSWER_UNSAMPLED;
	written_by(add_in_span, &span, text);
	assert_non_null(
		strstr(text, "\"inherited\":false,\"source\":\"unsampled\",\"trace_id\":\"\""));
	span.answer = SPAN_ANSWER_UNSETTLED;
	written_by(add_in_span, &span, text);
	assert_non_null(
		strstr(text, "\"inherited\":false,\"source\":\"unsettled\",\"trace_id\":\"\""));
}

static void add_ended(struct sample_log *log, const void *end)
{
	sample_log_add_ended(log, 7, end);
}

/* Spans that have ended are lines of their own; their names are anybody's text. */
static void test_ended(void **state)
{
	struct span_end end = {
		.name = "GET \"/\\\"\n and more",
		.name_size = 9,
		.span = {.status = 1,
			 .kind = 5,
			 .start_wall_ns = 1700000000123456789ull,
			 .duration_ns = 18446744073709551615ull},
	};
	char text[TEXT_SIZE], name[TEXT_SIZE], bytes[SPAN_SIGHT_NAME_MAX];
	const char *rest;

	memset(end.span.trace_id, 0xa5, sizeof(end.span.trace_id));
	memset(end.span.span_id, 0x0b, sizeof(end.span.span_id));
	memset(end.span.parent_id, 0xc0, sizeof(end.span.parent_id));
	written_by(add_ended, &end, text);
	assert_string_equal(
		text, "{\"ended_span\":\"GET \\\"/\\\\\\\"\xef\xbf\xbd\",\"pid\":7,"
		      "\"start_ns\":1700000000123456789,"
		      "\"duration_ns\":18446744073709551615,\"status\":1,\"kind\":5,"
		      "\"trace_id\":\"a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5\","
		      "\"span_id\":\"0b0b0b0b0b0b0b0b\",\"parent_id\":\"c0c0c0c0c0c0c0c0\"}\n");
	/* As long as a name may be, and every byte of it becomes three. */
	memset(bytes, 0x81, sizeof(bytes));
	end.name = bytes;
	end.name_size = sizeof(bytes);
	written_by(add_ended, &end, text);
	rest = unquote(text + strlen("{\"ended_span\":"), name);
	assert_int_equal(strlen(name), 3 * sizeof(bytes));
	for (size_t i = 0; i < sizeof(bytes); i++)
		assert_memory_equal(name + 3 * i, "\xef\xbf\xbd", 3);
	assert_memory_equal(rest, ",\"pid\":7,", 9);
	assert_int_equal(text[strlen(text) - 1], '\n');
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_line),
		cmocka_unit_test(test_long_name),
		cmocka_unit_test(test_sources),
		cmocka_unit_test(test_ended),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
