/* SPDX-License-Identifier: Apache-2.0 */
/* Spans that have ended, or are open: kept or only summed up by name. */
#include "ended_spans.h"

/* What its samples told stays; the name is the final one. Told again, nothing changes. */
static void test_end_of_a_sampled_span(void **state)
{
	struct fixture f;
	const struct span *row;

	open_store(&f, 10);
	assert_int_equal(spans_group_count(f.spans), 0);
	assert_null(spans_get_group(f.spans, 0));
	assert_null(spans_get_group(f.spans, 1));
	assert_int_equal(sample(&f, 7, "POST"), 1);
	row = spans_get(f.spans, 1);
	assert_false(row->ended);
	assert_int_equal(row->duration_ns, 0);
	end(&f, 7, "POST /cart", 30 * MS, false);
	end(&f, 7, "again", 99 * MS, false);
	end(&f, 7, "again", 99 * MS, true);
	assert_int_equal(spans_count(f.spans), 1);
	assert_ended(&f, 1, 7, "POST /cart", 30 * MS);
	row = spans_get(f.spans, 1);
	assert_int_equal(row->samples, 1);
	assert_int_equal(row->value_ns, 10);
	assert_int_equal(row->first_ns, 500);
	assert_int_equal(row->last_ns, 500);
	assert_int_equal(spans_group_count(f.spans), 1);
	assert_group(&f, 1, "POST /cart", 4, 1, 1, 30 * MS);
	assert_null(spans_get_group(f.spans, 2));
	close_store(&f);
}

/* Half of the room is for spans with samples: what has ended takes no more than the other half. */
static void test_kept_in_half_of_the_room(void **state)
{
	struct fixture f;

	open_store(&f, 10);
	end(&f, 99, "summed", MS, false);
	assert_int_equal(spans_count(f.spans), 0);
	for (uint8_t id = 1; id <= 8; id++)
		end(&f, id, "kept", id * MS, true);
	assert_int_equal(spans_count(f.spans), 5);
	for (uint8_t id = 1; id <= 5; id++)
		assert_ended(&f, id, id, "kept", id * MS);
	/* All of them are in the sums; those kept are in them once. */
	for (uint8_t id = 1; id <= 5; id++)
		end(&f, id, "kept", MS, true);
	assert_int_equal(spans_group_count(f.spans), 2);
	assert_group(&f, 1, "summed", 4, 1, 1, MS);
	assert_group(&f, 2, "kept", 4, 8, 8, 36 * MS);
	for (uint8_t id = 11; id <= 15; id++)
		assert_int_equal(sample(&f, id, "sampled"), id - 5);
	assert_int_equal(spans_dropped(f.spans), 0);
	assert_int_equal(sample(&f, 16, "sampled"), 0);
	assert_int_equal(spans_dropped(f.spans), 1);
	/* However full: a known span's end is kept. */
	end(&f, 15, "sampled", 3 * MS, true);
	assert_ended(&f, 10, 15, "sampled", 3 * MS);
	close_store(&f);
}

/* One for each name and resource. A name is cleaned, so what differs in no visible way is one. */
static void test_groups(void **state)
{
	struct span_end e = end_of(1, "GET /", 10 * MS);
	char name[1100];
	struct fixture f;

	open_store(&f, 10);
	spans_end(f.spans, &e, false);
	e.span.status = 2;
	e.span.duration_ns = 20 * MS;
	spans_end(f.spans, &e, false);
	e.span.status = 0;
	e.span.resource = 5;
	spans_end(f.spans, &e, false);
	e.name = "GET /\1zz";
	e.name_size = 6;
	spans_end(f.spans, &e, false);
	e.name = "GET /\2";
	spans_end(f.spans, &e, false);
	e.name_size = 0;
	spans_end(f.spans, &e, false);
	memset(name, 'n', sizeof(name));
	e.name = name;
	e.name_size = sizeof(name);
	spans_end(f.spans, &e, false);
	assert_int_equal(spans_group_count(f.spans), 5);
	assert_group(&f, 1, "GET /", 4, 2, 1, 30 * MS);
	assert_int_equal(spans_get_group(f.spans, 1)->durations.max_ns, 20 * MS);
	assert_group(&f, 2, "GET /", 5, 1, 0, 20 * MS);
	assert_group(&f, 3, "GET /\xef\xbf\xbd", 5, 2, 0, 40 * MS);
	assert_group(&f, 4, "", 5, 1, 0, 20 * MS);
	name[1023] = '\0';
	assert_group(&f, 5, name, 5, 1, 0, 20 * MS);
	close_store(&f);
}

/* At the cap, known groups still count; of a new one not even a part is kept. */
static void test_groups_at_the_cap(void **state)
{
	struct span_groups groups = {0};
	struct span_group *g;
	struct fixture f;

	open_store(&f, 10);
	for (uint32_t i = 0; i < SPAN_GROUPS_MAX + 7; i++) {
		char name[16];

		snprintf(name, sizeof(name), "name %u", i);
		end(&f, 1, name, MS, false);
	}
	end(&f, 1, "name 1023", 2 * MS, false);
	assert_int_equal(spans_group_count(f.spans), SPAN_GROUPS_MAX);
	assert_group(&f, 1, "name 0", 4, 1, 1, MS);
	assert_group(&f, SPAN_GROUPS_MAX, "name 1023", 4, 2, 2, 3 * MS);
	close_store(&f);

	for (uint32_t i = 0; i < SPAN_GROUPS_MAX; i++) {
		g = span_groups_get(&groups, i % 32, i / 32);
		assert_non_null(g);
		assert_int_equal(g->durations.count, 0);
		g->errors = i;
	}
	assert_null(span_groups_get(&groups, 32, 0));
	for (uint32_t i = 0; i < SPAN_GROUPS_MAX; i++) {
		g = span_groups_get(&groups, i % 32, i / 32);
		assert_int_equal(g->errors, i);
		assert_int_equal(g->name, i % 32);
		assert_int_equal(g->resource, i / 32);
	}
	span_groups_close(&groups);
}

/* The final name stays, whichever of the two is told first; samples add up. */
/* Open as of a look, later, then ended; in another store, too. */
static void test_open(void **state)
{
	struct span_end is = end_of(1, "GET", 0), ended = end_of(1, "GET /", 5 * MS);
	const struct span *span;
	struct fixture f, g;
	uint32_t handle;

	open_store(&f, 100);
	open_store(&g, 100);
	is.span.status = 0;
	spans_see_open(f.spans, &is, 1700000001000000000ull, false);
	assert_int_equal(spans_count(f.spans), 0);
	spans_see_open(f.spans, &is, 1700000001000000000ull, true);
	spans_see_open(f.spans, &is, 1700000002000000000ull, false);
	assert_int_equal(spans_count(f.spans), 1);
	span = spans_get(f.spans, 1);
	assert_false(span->ended);
	assert_int_equal(span->start_wall_ns, is.span.start_wall_ns);
	assert_int_equal(span->open_wall_ns, 1700000002000000000ull);
	assert_memory_equal(span->parent_id, is.span.parent_id, 8);
	assert_string_equal(string_table_get(f.strings, span->name), "GET");
	handle = spans_absorb(g.spans, span, "GET");
	assert_int_equal(spans_get(g.spans, handle)->open_wall_ns, 1700000002000000000ull);
	assert_int_equal(spans_group_count(g.spans), 0);
	spans_end(f.spans, &ended, true);
	spans_see_open(f.spans, &is, 1700000003000000000ull, true); /* too late */
	span = spans_get(f.spans, 1);
	assert_true(span->ended);
	assert_int_equal(span->duration_ns, 5 * MS);
	assert_string_equal(string_table_get(f.strings, span->name), "GET /");
	spans_absorb(g.spans, span, "GET /");
	spans_absorb(g.spans, &(struct span){.open_wall_ns = 9, .span_id = {9}}, "x");
	assert_true(spans_get(g.spans, handle)->ended);
	close_store(&g);
	close_store(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_end_of_a_sampled_span),
		cmocka_unit_test(test_kept_in_half_of_the_room),
		cmocka_unit_test(test_groups),
		cmocka_unit_test(test_groups_at_the_cap),
		cmocka_unit_test(test_open),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
