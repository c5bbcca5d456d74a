/* SPDX-License-Identifier: Apache-2.0 */
/* Spans that have ended: kept or only summed up by name, absorbed, merged with their profiles. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/string_table.h"
#include "profile/profile.h"
#include "spans/span_groups.h"
#include "spans/spans.h"

#define MS 1000000ull

struct fixture {
	struct string_table *strings;
	struct spans *spans;
};

static void open_store(struct fixture *f, size_t spans_max)
{
	assert_int_equal(string_table_open(1 << 20, &f->strings), 0);
	assert_int_equal(spans_open(f->strings, spans_max, &f->spans), 0);
}

static void close_store(struct fixture *f)
{
	spans_close(f->spans);
	string_table_close(f->strings);
}

static uint32_t sample(struct fixture *f, uint8_t id, const char *name)
{
	struct span_sight sight = {
		.name = name,
		.name_size = strlen(name),
		.time_ns = 500,
		.value_ns = 10,
		.resource = 3,
	};

	sight.trace_id[15] = 1;
	sight.span_id[7] = id;
	return spans_add(f->spans, &sight);
}

/* A client's span with an error; each field has a value of its own. */
static struct span_end end_of(uint8_t id, const char *name, uint64_t duration_ns)
{
	struct span_end end = {
		.name = name,
		.name_size = strlen(name),
		.span = {.resource = 4,
			 .sampled = true,
			 .status = 1,
			 .kind = 3,
			 .start_wall_ns = 1700000000123456789ull,
			 .duration_ns = duration_ns},
	};

	end.span.trace_id[15] = 1;
	end.span.span_id[7] = id;
	end.span.parent_id[0] = 0x77;
	return end;
}

static void end(struct fixture *f, uint8_t id, const char *name, uint64_t duration_ns, bool keep)
{
	struct span_end e = end_of(id, name, duration_ns);

	spans_end(f->spans, &e, keep);
}

static const char *text(const struct fixture *f, uint32_t id)
{
	return string_table_get(f->strings, id);
}

static void assert_ended(const struct fixture *f, uint32_t handle, uint8_t id, const char *name,
			 uint64_t duration_ns)
{
	const struct span *row = spans_get(f->spans, handle);

	assert_non_null(row);
	assert_int_equal(row->handle, handle);
	assert_true(row->ended);
	assert_int_equal(row->trace_id[15], 1);
	assert_int_equal(row->span_id[7], id);
	assert_string_equal(text(f, row->name), name);
	assert_int_equal(row->resource, 4);
	assert_true(row->sampled);
	assert_int_equal(row->status, 1);
	assert_int_equal(row->kind, 3);
	assert_int_equal(row->parent_id[0], 0x77);
	assert_int_equal(row->start_wall_ns, 1700000000123456789ull);
	assert_int_equal(row->duration_ns, duration_ns);
}

static void assert_group(const struct fixture *f, uint32_t group, const char *name,
			 uint32_t resource, uint64_t count, uint64_t errors, uint64_t sum_ns)
{
	const struct span_group *g = spans_get_group(f->spans, group);

	assert_non_null(g);
	assert_string_equal(text(f, g->name), name);
	assert_int_equal(g->resource, resource);
	assert_int_equal(g->durations.count, count);
	assert_int_equal(g->durations.sum_ns, sum_ns);
	assert_int_equal(g->errors, errors);
}

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

static void test_absorb(void **state)
{
	struct span_end e = end_of(7, "", 30 * MS);
	struct span other = e.span;
	struct fixture f;

	open_store(&f, 4);
	other.ended = true;
	other.samples = 2;
	other.value_ns = 20;
	other.first_ns = 100;
	other.last_ns = 200;
	assert_int_equal(sample(&f, 7, "POST"), 1); /* at 500 */
	assert_int_equal(spans_absorb(f.spans, &other, "POST /cart"), 1);
	assert_ended(&f, 1, 7, "POST /cart", 30 * MS);
	assert_int_equal(spans_get(f.spans, 1)->samples, 3);
	assert_int_equal(spans_get(f.spans, 1)->value_ns, 30);
	assert_int_equal(spans_get(f.spans, 1)->first_ns, 100);
	assert_int_equal(spans_get(f.spans, 1)->last_ns, 500);
	/* Open there, later; and ended there, once more: the end that is known stays. */
	other.ended = false;
	other.last_ns = 900;
	other.duration_ns = other.start_wall_ns = 0;
	assert_int_equal(spans_absorb(f.spans, &other, "POST again"), 1);
	assert_ended(&f, 1, 7, "POST /cart", 30 * MS);
	other.ended = true;
	other.duration_ns = 1;
	assert_int_equal(spans_absorb(f.spans, &other, ""), 1);
	assert_ended(&f, 1, 7, "POST /cart", 30 * MS);
	assert_int_equal(spans_get(f.spans, 1)->samples, 7);
	/* The sums are merged as such: absorbing a span adds nothing to them. */
	assert_int_equal(spans_group_count(f.spans), 0);
	/* Without samples there is room for two of four. */
	other = e.span;
	other.ended = true;
	for (uint8_t id = 8; id <= 9; id++) {
		other.span_id[7] = id;
		assert_int_equal(spans_absorb(f.spans, &other, "x"), id == 8 ? 2 : 0);
	}
	other.samples = 1;
	assert_int_equal(spans_absorb(f.spans, &other, "x"), 3);
	assert_ended(&f, 3, 9, "x", 30 * MS);
	assert_int_equal(spans_dropped(f.spans), 0);
	close_store(&f);
}

static void test_absorb_group(void **state)
{
	struct span_group other = {.name = 4711, .resource = 4711, .errors = 2};
	struct fixture f;

	open_store(&f, 10);
	end(&f, 1, "GET /", 10 * MS, false);
	for (uint64_t i = 0; i < 100; i++)
		durations_add(&other.durations, 50 * MS);
	spans_absorb_group(f.spans, &other, "GET /", 4);
	spans_absorb_group(f.spans, &other, "GET /", 5);
	assert_int_equal(spans_group_count(f.spans), 2);
	assert_group(&f, 1, "GET /", 4, 101, 3, 5010 * MS);
	assert_group(&f, 2, "GET /", 5, 100, 2, 5000 * MS);
	assert_int_equal(spans_get_group(f.spans, 1)->durations.max_ns, 50 * MS);
	close_store(&f);
}

static struct profile *new_profile(void)
{
	const struct profile_config config = {
		.period_ns = 10 * MS,
		.samples_max = 100,
		.strings_bytes_max = 1 << 16,
		.spans_max = 10,
	};
	struct profile *p;

	assert_int_equal(profile_open(&config, 1, &p), 0);
	return p;
}

static uint32_t add_resource(struct profile *p, const char *service)
{
	const struct resource_attribute name = {"service.name", service, 0, false};

	return profile_add_resource(p, &name, 1);
}

static void end_in(struct profile *p, uint8_t id, const char *name, uint32_t resource,
		   uint64_t duration_ns)
{
	struct span_end e = end_of(id, name, duration_ns);

	e.span.resource = resource;
	spans_end(profile_get_spans(p), &e, true);
}

static void assert_merged(struct profile *p, uint32_t group, const char *name, const char *service,
			  uint64_t count, uint64_t sum_ns)
{
	const struct fixture f = {profile_get_strings(p), profile_get_spans(p)};
	const struct span_group *g = spans_get_group(f.spans, group);

	assert_group(&f, group, name, g->resource, count, count, sum_ns);
	assert_string_equal(text(&f, profile_get_service(p, g->resource)), service);
}

/* Names and resources have other numbers in the other profile. */
static void test_merge_profiles(void **state)
{
	struct profile *to = new_profile(), *from = new_profile();
	const struct span *row;
	uint32_t cart, shop;

	shop = add_resource(to, "shop");
	end_in(to, 1, "GET /", shop, 10 * MS);
	cart = add_resource(from, "cart");
	shop = add_resource(from, "shop");
	assert_int_equal(shop, 2);
	end_in(from, 2, "POST /", cart, 20 * MS);
	end_in(from, 3, "GET /", cart, 30 * MS);
	end_in(from, 4, "GET /", shop, 40 * MS);
	end_in(from, 1, "GET /", 0, 50 * MS);
	assert_int_equal(profile_merge(to, from), 0);
	assert_int_equal(spans_group_count(profile_get_spans(to)), 4);
	assert_merged(to, 1, "GET /", "shop", 2, 50 * MS);
	assert_merged(to, 2, "POST /", "cart", 1, 20 * MS);
	assert_merged(to, 3, "GET /", "cart", 1, 30 * MS);
	assert_merged(to, 4, "GET /", "", 1, 50 * MS);
	assert_int_equal(spans_count(profile_get_spans(to)), 4);
	row = spans_get(profile_get_spans(to), 3);
	assert_int_equal(row->span_id[7], 3);
	assert_true(row->ended);
	assert_int_equal(row->duration_ns, 30 * MS);
	assert_string_equal(
		string_table_get(profile_get_strings(to), profile_get_service(to, row->resource)),
		"cart");
	assert_int_equal(spans_get(profile_get_spans(to), 1)->duration_ns, 10 * MS);
	profile_close(from);
	profile_close(to);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_end_of_a_sampled_span),
		cmocka_unit_test(test_kept_in_half_of_the_room),
		cmocka_unit_test(test_groups),
		cmocka_unit_test(test_groups_at_the_cap),
		cmocka_unit_test(test_open),
		cmocka_unit_test(test_absorb),
		cmocka_unit_test(test_absorb_group),
		cmocka_unit_test(test_merge_profiles),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
