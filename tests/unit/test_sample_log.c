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

/* The line that a sample with this location becomes. */
static void written(const struct location *location, char *text)
{
	char folder[] = "/tmp/test_sample_log.XXXXXX", path[64];
	struct sample_record sample = {.pid = 7, .tid = 8, .goid = 9, .time_ns = 10};
	struct sampled_span span = {.answer = SPAN_ANSWER_NONE};
	struct sample_log *log;
	FILE *file;

	assert_non_null(mkdtemp(folder));
	snprintf(path, sizeof(path), "%s/a.jsonl", folder);
	assert_int_equal(sample_log_open(path, &log), 0);
	sample_log_add(log, &sample, &span, &location, 1, false);
	assert_int_equal(sample_log_commit(log), 0);
	sample_log_close(log);
	file = fopen(path, "r");
	assert_non_null(file);
	text[fread(text, 1, TEXT_SIZE - 1, file)] = '\0';
	fclose(file);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(rmdir(folder), 0);
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_line),
		cmocka_unit_test(test_long_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
