/* SPDX-License-Identifier: Apache-2.0 */
/* When spans were: kept in files, not on the wire. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/bytes.h"
#include "format/format.h"
#include "sample_profile.h"

static const struct format_otlp_options file = {.span_names = true};

static struct profile *read_back(const void *data, size_t size)
{
	struct profile *p = NULL;
	char why[128] = "";
	int err = format_otlp_read(data, size, &p, why, sizeof(why));

	if (err)
		print_error("%s\n", why);
	assert_int_equal(err, 0);
	return p;
}

/* The first span has ended, the second was open at the end, of the others nothing is known. */
static struct profile *with_times(void)
{
	struct profile *p = sample_profile();
	struct spans *spans = profile_get_spans(p);
	struct span_end is = {.span = *spans_get(spans, 1)};

	is.span.start_wall_ns = SAMPLE_START_NS + 5;
	memset(is.span.parent_id, 0xc7, sizeof(is.span.parent_id));
	is.span.ended = true;
	is.span.status = SPAN_STATUS_ERROR;
	is.span.duration_ns = 1234567;
	spans_end(spans, &is, true);
	is.span = *spans_get(spans, 2);
	is.span.start_wall_ns = SAMPLE_START_NS - 7;
	spans_see_open(spans, &is, SAMPLE_END_NS - 9, true);
	return p;
}

static const struct span *span_of(const struct profile *p, uint8_t trace, uint8_t id)
{
	for (uint32_t i = 1; i <= spans_count(profile_get_spans(p)); i++) {
		const struct span *s = spans_get(profile_get_spans(p), i);

		if (s->trace_id[0] == trace && s->span_id[0] == id)
			return s;
	}
	fail_msg("no span %02x", id);
	return NULL;
}

static void files_keep_when_spans_were(void **state)
{
	const struct format_otlp_options wire = {.agent_version = "1"};
	struct profile *p = with_times(), *again;
	const struct span *span;
	struct buffer out;

	buffer_open(&out, 1 << 20);
	assert_int_equal(format_otlp(p, &file, &out), 0);
	again = read_back(out.data, out.size);
	span = span_of(again, 0xa1, 0xb1);
	assert_true(span->ended);
	assert_int_equal(span->start_wall_ns, SAMPLE_START_NS + 5);
	assert_int_equal(span->duration_ns, 1234567);
	assert_int_equal(span->status, SPAN_STATUS_ERROR);
	for (int i = 0; i < 8; i++)
		assert_int_equal(span->parent_id[i], 0xc7);
	assert_int_equal(span->samples, 50);
	span = span_of(again, 0xa1, 0xb2);
	assert_false(span->ended);
	assert_int_equal(span->start_wall_ns, SAMPLE_START_NS - 7);
	assert_int_equal(span->open_wall_ns, SAMPLE_END_NS - 9);
	assert_int_equal(span->parent_id[0], 0);
	span = span_of(again, 0xb2, 0xb1);
	assert_false(span->ended);
	assert_int_equal(span->start_wall_ns, 0);
	buffer_close(&out);
	profile_close(again);
	/* They are the trace backend's: nothing of it on the wire. */
	buffer_open(&out, 1 << 20);
	assert_int_equal(format_otlp(p, &wire, &out), 0);
	again = read_back(out.data, out.size);
	assert_int_equal(span_of(again, 0xa1, 0xb1)->start_wall_ns, 0);
	assert_null(memmem(out.data, out.size, "span.", 5));
	buffer_close(&out);
	profile_close(again);
	profile_close(p);
}

/* What spans have in common is there once. */
static void nothing_twice(void **state)
{
	struct profile *p = with_times();
	struct spans *spans = profile_get_spans(p);
	struct span_end is = {.span = *spans_get(spans, 1)};
	struct buffer out;
	const uint8_t *at;
	size_t found = 0;

	memcpy(is.span.trace_id, spans_get(spans, 4)->trace_id, sizeof(is.span.trace_id));
	memcpy(is.span.span_id, spans_get(spans, 4)->span_id, sizeof(is.span.span_id));
	spans_end(spans, &is, true);
	assert_true(spans_get(spans, 4)->ended);
	buffer_open(&out, 1 << 20);
	assert_int_equal(format_otlp(p, &file, &out), 0);
	for (at = out.data;
	     (at = memmem(at, out.size - (size_t)(at - out.data), "c7c7c7c7c7c7c7c7", 16)); at++)
		found++;
	assert_int_equal(found, 1);
	buffer_close(&out);
	profile_close(p);
}

/* What no file of ours says is not believed: a length before 0, a parent of other than 8 bytes. */
static void odd_times_are_not_read(void **state)
{
	static const char *const odd[] = {"c7c7c7c7c7c7c7cX", "+7c7c7c7c7c7c7c7"};
	struct profile *p = with_times(), *again;
	const struct span *span;
	struct buffer out;
	uint8_t *at;

	for (size_t i = 0; i < sizeof(odd) / sizeof(odd[0]); i++) {
		buffer_open(&out, 1 << 20);
		assert_int_equal(format_otlp(p, &file, &out), 0);
		at = memmem(out.data, out.size, "c7c7c7c7c7c7c7c7", 16);
		assert_non_null(at);
		memcpy(at, odd[i], 16);
		/* 1234567 as an int_value. */
		at = memmem(out.data, out.size, "\x18\x87\xad\x4b", 4);
		assert_non_null(at);
		at[0] = 0x10; /* a bool */
		again = read_back(out.data, out.size);
		span = span_of(again, 0xa1, 0xb1);
		assert_false(span->ended);
		assert_int_equal(span->duration_ns, 0);
		assert_int_equal(span->parent_id[0], 0);
		assert_int_equal(span->start_wall_ns, 0); /* of neither kind: not kept */
		buffer_close(&out);
		profile_close(again);
	}
	profile_close(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(files_keep_when_spans_were),
		cmocka_unit_test(nothing_twice),
		cmocka_unit_test(odd_times_are_not_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
