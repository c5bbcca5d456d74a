/* SPDX-License-Identifier: Apache-2.0 */
/* The span store: one row per (trace ID, span ID), last name, counts, cap, absorbing. */
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "base/string_table.h"
#include "spans/spans.h"

static struct span_sight sight_of(uint8_t trace, uint8_t span, const char *name, uint64_t time_ns)
{
	struct span_sight sight = {
		.name = name,
		.name_size = strlen(name),
		.time_ns = time_ns,
		.value_ns = 10,
		.resource = 3,
	};

	sight.trace_id[15] = trace;
	sight.span_id[7] = span;
	return sight;
}

static uint32_t add(struct spans *s, uint8_t trace, uint8_t span, const char *name,
		    uint64_t time_ns)
{
	struct span_sight sight = sight_of(trace, span, name, time_ns);

	return spans_add(s, &sight);
}

static void counts_and_names(void **state)
{
	struct string_table *strings;
	struct spans *s;
	const struct span *row;

	assert_int_equal(string_table_open(1 << 16, &strings), 0);
	assert_int_equal(spans_open(strings, 100, &s), 0);
	assert_int_equal(add(s, 1, 1, "first", 50), 1);
	assert_int_equal(add(s, 1, 2, "other", 60), 2);
	assert_int_equal(add(s, 2, 1, "other trace", 60), 3);
	assert_int_equal(add(s, 1, 1, "renamed\n", 70), 1);
	assert_int_equal(add(s, 1, 1, "", 65), 1);
	assert_int_equal(spans_count(s), 3);
	row = spans_get(s, 1);
	assert_int_equal(row->handle, 1);
	assert_int_equal(row->trace_id[15], 1);
	assert_int_equal(row->span_id[7], 1);
	assert_string_equal(string_table_get(strings, row->name), "renamed\xef\xbf\xbd");
	assert_int_equal(row->samples, 3);
	assert_int_equal(row->value_ns, 30);
	assert_int_equal(row->first_ns, 50);
	assert_int_equal(row->last_ns, 70);
	assert_int_equal(row->resource, 3);
	assert_false(row->sampled);
	assert_null(spans_get(s, 0));
	assert_null(spans_get(s, 4));
	spans_close(s);
	spans_close(NULL);
	string_table_close(strings);
}

static void stays_under_the_cap(void **state)
{
	struct string_table *strings;
	struct spans *s;

	assert_int_equal(string_table_open(1 << 16, &strings), 0);
	assert_int_equal(spans_open(strings, 100, &s), 0);
	for (int i = 0; i < 100; i++)
		assert_int_equal(add(s, 1, (uint8_t)i, "n", 1), i + 1);
	assert_int_equal(add(s, 2, 1, "n", 1), 0);
	assert_int_equal(add(s, 1, 99, "n", 1), 100);
	assert_int_equal(spans_count(s), 100);
	assert_int_equal(spans_dropped(s), 1);
	spans_close(s);
	string_table_close(strings);
}

static void absorbs_with_counts(void **state)
{
	struct span other = {.samples = 7, .value_ns = 700, .first_ns = 10, .last_ns = 40};
	struct string_table *strings;
	const struct span *row;
	struct spans *s;

	assert_int_equal(string_table_open(1 << 16, &strings), 0);
	assert_int_equal(spans_open(strings, 1, &s), 0);
	other.trace_id[15] = 1;
	other.span_id[7] = 1;
	other.resource = 9;
	other.sampled = true;
	assert_int_equal(add(s, 1, 1, "late", 50), 1);
	assert_int_equal(spans_absorb(s, &other, "early"), 1);
	row = spans_get(s, 1);
	assert_string_equal(string_table_get(strings, row->name), "late");
	assert_int_equal(row->samples, 8);
	assert_int_equal(row->value_ns, 710);
	assert_int_equal(row->first_ns, 10);
	assert_int_equal(row->last_ns, 50);
	assert_int_equal(row->resource, 9);
	assert_true(row->sampled);
	other.last_ns = 60;
	assert_int_equal(spans_absorb(s, &other, "latest"), 1);
	assert_string_equal(string_table_get(strings, row->name), "latest");
	other.span_id[7] = 2;
	assert_int_equal(spans_absorb(s, &other, "x"), 0);
	assert_int_equal(spans_dropped(s), 1);
	spans_close(s);
	string_table_close(strings);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(counts_and_names),
		cmocka_unit_test(stays_under_the_cap),
		cmocka_unit_test(absorbs_with_counts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
