/* SPDX-License-Identifier: Apache-2.0 */
/* Spans that have ended, absorbed by another store and merged with their profiles. */
#include "ended_spans.h"
#include "profile/profile.h"

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
		cmocka_unit_test(test_absorb),
		cmocka_unit_test(test_absorb_group),
		cmocka_unit_test(test_merge_profiles),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
