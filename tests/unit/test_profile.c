/* SPDX-License-Identifier: Apache-2.0 */
/* The profile's tables: each value once, counts added, caps kept, profiles merged. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/string_table.h"
#include "sample_profile.h"

static uint64_t total(const struct profile_view *v)
{
	uint64_t sum = 0;

	for (size_t i = 1; i < v->sample_count; i++)
		sum += v->samples[i].count;
	return sum;
}

static const char *text(const struct profile *p, uint32_t id)
{
	return string_table_get(profile_get_strings(p), id);
}

static void holds_each_value_once(void **state)
{
	struct profile *p = sample_profile();
	struct profile_view v;

	profile_get_view(p, &v);
	assert_int_equal(v.period_ns, SAMPLE_PERIOD_NS);
	assert_int_equal(v.start_wall_ns, SAMPLE_START_NS);
	assert_int_equal(v.duration_ns, UINT64_C(10000000000));
	assert_int_equal(v.mapping_count, 4);
	assert_int_equal(v.function_count, 6);
	assert_int_equal(v.location_count, 6);
	assert_int_equal(v.line_count, 6);
	assert_int_equal(v.stack_count, 4);
	assert_int_equal(v.stack_location_count, 1 + 2 + 3 + 2);
	assert_int_equal(v.resource_count, 3);
	assert_int_equal(v.sample_count, 6);
	assert_int_equal(v.dropped, 0);
	assert_int_equal(total(&v), 82);
	assert_int_equal(v.samples[0].count, 0);
	profile_close(p);
	profile_close(NULL);
}

static void rows_tell_what_was_added(void **state)
{
	struct profile *p = sample_profile();
	const struct profile_location *l;
	const struct profile_stack *s;
	struct profile_view v;

	profile_get_view(p, &v);
	assert_int_equal(v.samples[1].count, 50);
	assert_int_equal(v.samples[1].span, 1);
	s = &v.stacks[v.samples[1].stack];
	assert_int_equal(s->location_count, 2);
	assert_false(s->truncated);
	l = &v.locations[v.stack_locations[s->first_location]];
	assert_int_equal(l->address, 0x401234);
	assert_int_equal(l->kind, FRAME_GO);
	assert_int_equal(l->line_count, 2);
	assert_string_equal(text(p, v.functions[v.lines[l->first_line].function].name),
			    "main.isPrime");
	assert_int_equal(v.lines[l->first_line + 1].line, 31);
	assert_string_equal(text(p, v.mappings[l->mapping].file), "/srv/shop");
	assert_string_equal(text(p, v.mappings[l->mapping].build_id_go), "abc/def");
	assert_true(v.stacks[v.samples[3].stack].truncated);
	assert_int_equal(v.samples[3].span, 0);
	assert_string_equal(text(p, v.attributes[v.resources[1].first_attribute].value), "shop");
	assert_int_equal(v.attributes[v.resources[1].first_attribute + 1].number, 17);
	profile_close(p);
}

static void the_same_resource_has_one_handle(void **state)
{
	struct profile *p = sample_profile();

	assert_int_equal(sample_resource(p, "shop", 17), 1);
	assert_int_equal(sample_resource(p, "cart", 18), 2);
	assert_int_equal(sample_resource(p, "shop", 19), 3);
	assert_int_equal(profile_add_resource(p, NULL, 0), 0);
	profile_close(p);
}

static void a_resource_is_renamed(void **state)
{
	const struct resource_attribute was[] = {{"service.name", "shop", 0, false},
						 {"process.pid", NULL, 17, true},
						 {"host.name", "box", 0, false}};
	const struct resource_attribute is[] = {{"service.name", "cart", 0, false},
						{"service.version", "2", 0, false},
						{"process.pid", NULL, 17, true},
						{"host.name", "box", 0, false}};
	struct profile *p = sample_profile(), *to = sample_profile();
	struct profile_view v;

	assert_int_equal(profile_rename_resource(p, was, 3, is, 4), 0);
	profile_get_view(p, &v);
	assert_int_equal(v.resource_count, 3);
	assert_int_equal(v.samples[1].resource, 1);
	assert_int_equal(v.resources[1].attribute_count, 4);
	assert_string_equal(text(p, profile_get_service(p, 1)), "cart");
	assert_int_equal(v.attributes[v.resources[1].first_attribute + 2].number, 17);
	/* Under the one name it is found, under the other not any more. */
	assert_int_equal(profile_add_resource(p, is, 4), 1);
	assert_int_equal(profile_rename_resource(p, was, 3, is, 4), -ENOENT);
	assert_int_equal(profile_add_resource(p, was, 3), 3);
	assert_string_equal(text(p, profile_get_service(p, 3)), "shop");
	/* What is added later meets it, in a total too. */
	assert_int_equal(profile_merge(to, p), 0);
	assert_int_equal(profile_add_resource(to, was, 3), 1);
	assert_int_equal(profile_add_resource(to, is, 4), 3);
	profile_close(to);
	profile_close(p);
}

static void a_service_without_a_name_is_its_executable(void **state)
{
	const struct resource_attribute only[] = {{"process.executable.name", "tool", 0, false}};
	const struct resource_attribute odd[] = {
		{"service.name", "", 17, true},
		{"service.name", "", 0, false},
		{"process.executable.name", "tool", 0, false},
	};
	const struct resource_attribute both[] = {
		{"process.executable.name", "tool", 0, false},
		{"service.name", "shop", 0, false},
	};
	struct profile *p = sample_profile();

#define SERVICE(list, count) text(p, profile_get_service(p, profile_add_resource(p, list, count)))
	assert_string_equal(SERVICE(only, 1), "tool");
	assert_string_equal(SERVICE(odd, 3), "tool");
	assert_string_equal(SERVICE(both, 2), "shop");
#undef SERVICE
	assert_int_equal(profile_get_service(p, 0), 0);
	profile_close(p);
}

static void values_survive_forgotten_ids(void **state)
{
	struct profile *p = sample_profile();
	struct location *at[AT_LOCATIONS];
	struct profile_view v;

	sample_locations(at);
	const struct location *stack[] = {at[AT_COUNT], at[AT_MAIN]};
	struct sample_input sample = {stack, 2, false, 1, 1, 8};

	/* A new symbolizer run: the same values under other ids, and an old id for another value.
	 */
	profile_forget_locations(p);
	at[AT_COUNT]->id = 14;
	at[AT_MAIN]->id = 11;
	assert_int_equal(profile_add(p, &sample), 0);
	profile_get_view(p, &v);
	assert_int_equal(v.location_count, 6);
	assert_int_equal(v.sample_count, 6);
	assert_int_equal(v.samples[1].count, 58);
	sample_free(at);
	profile_close(p);
}

static void a_sample_without_anything_is_not_the_zero_row(void **state)
{
	struct profile *p = sample_profile();
	struct sample_input sample = {.count = 6};
	struct profile_view v;

	assert_int_equal(profile_add(p, &sample), 0);
	assert_int_equal(profile_add(p, &sample), 0);
	profile_get_view(p, &v);
	assert_int_equal(v.sample_count, 7);
	assert_int_equal(v.samples[0].count, 0);
	assert_int_equal(v.samples[6].count, 12);
	assert_int_equal(v.samples[6].stack, 0);
	profile_close(p);
}

static void drops_at_the_cap_and_counts(void **state)
{
	struct profile_config config = {1000, 10, 1 << 16, 10};
	struct sample_input sample = {.location_count = 1, .count = 3};
	struct frame frame = {"f", "", 0, 0};
	struct profile_view v;
	struct profile *p;

	assert_int_equal(profile_open(&config, 1, &p), 0);
	for (uint64_t i = 1; i <= 12; i++) {
		struct location *l = sample_location(i, i, NULL, FRAME_GO, 1, &frame);
		const struct location *stack[] = {l};

		sample.locations = stack;
		assert_int_equal(profile_add(p, &sample), i <= 10 ? 0 : -ENOSPC);
		free(l);
	}
	profile_get_view(p, &v);
	assert_int_equal(v.sample_count, 11);
	assert_int_equal(v.dropped, 6);
	assert_int_equal(total(&v), 30);
	profile_close(p);
}

static void cuts_a_stack_that_is_too_deep(void **state)
{
	const struct location *deep[1100];
	struct profile *p = sample_profile();
	struct location *at[AT_LOCATIONS];
	struct sample_input sample = {deep, 1100, false, 1, 0, 1};
	struct profile_view v;

	sample_locations(at);
	for (int i = 0; i < 1100; i++)
		deep[i] = at[AT_MAIN];
	assert_int_equal(profile_add(p, &sample), 0);
	profile_get_view(p, &v);
	assert_int_equal(v.stacks[v.samples[6].stack].location_count, 1024);
	assert_true(v.stacks[v.samples[6].stack].truncated);
	sample_free(at);
	profile_close(p);
}

static void merges_by_value(void **state)
{
	struct profile_config config = {SAMPLE_PERIOD_NS, 1000, 1 << 20, 100};
	struct profile *a, *b = sample_profile();
	const struct span *span;
	struct profile_view v;

	assert_int_equal(profile_open(&config, SAMPLE_START_NS + 5, &a), 0);
	/* Another order of strings, resources and spans than in b. */
	sample_resource(a, "cart", 18);
	assert_int_equal(sample_span(a, 0xb2, 0xb1, "old name", 1, true), 1);
	assert_int_equal(profile_merge(a, b), 0);
	assert_int_equal(profile_merge(a, b), 0);
	profile_get_view(a, &v);
	assert_int_equal(v.start_wall_ns, SAMPLE_START_NS);
	assert_int_equal(v.start_wall_ns + v.duration_ns, SAMPLE_END_NS);
	assert_int_equal(v.sample_count, 6);
	assert_int_equal(v.resource_count, 3);
	assert_int_equal(v.stack_count, 4);
	assert_int_equal(v.location_count, 6);
	assert_int_equal(total(&v), 164);
	assert_int_equal(spans_count(profile_get_spans(a)), 4);
	span = spans_get(profile_get_spans(a), 1);
	assert_string_equal(text(a, span->name), "GET /cart");
	assert_int_equal(span->resource, 1);
	assert_int_equal(span->samples, 3);
	for (size_t i = 1; i < v.sample_count; i++)
		if (v.samples[i].span == 1) {
			assert_int_equal(v.samples[i].count, 8);
			assert_int_equal(v.samples[i].resource, 1);
		}
	assert_true(v.stacks[v.samples[3].stack].truncated);
	profile_close(a);
	profile_close(b);
}

static void merging_scales_periods_and_keeps_the_sum(void **state)
{
	struct profile_config slow = {5 * UINT64_C(10000000), 1000, 1 << 20, 100};
	struct profile_config fast = {10000000, 1000, 1 << 20, 100};
	struct profile *a, *b;
	struct profile_view v;
	struct frame frame = {"f", "", 0, 0};

	assert_int_equal(profile_open(&slow, 1, &a), 0);
	assert_int_equal(profile_open(&fast, 1, &b), 0);
	for (uint64_t i = 1; i <= 100; i++) {
		struct location *l = sample_location(i, i, NULL, FRAME_GO, 1, &frame);
		const struct location *stack[] = {l};
		struct sample_input sample = {stack, 1, false, 0, 0, 1};

		assert_int_equal(profile_add(b, &sample), 0);
		free(l);
	}
	assert_int_equal(profile_merge(a, b), 0);
	profile_get_view(a, &v);
	assert_int_equal(total(&v), 20); /* 100 × 10 ms = 20 × 50 ms */
	assert_int_equal(profile_merge(b, a), 0);
	profile_get_view(b, &v);
	assert_int_equal(total(&v), 200);
	profile_close(a);
	profile_close(b);
}

static void merging_into_a_small_profile_counts_what_is_lost(void **state)
{
	struct profile_config config = {SAMPLE_PERIOD_NS, 2, 1 << 20, 100};
	struct profile *a, *b = sample_profile();
	struct profile_view v;

	assert_int_equal(profile_open(&config, 1, &a), 0);
	assert_int_equal(profile_merge(a, b), 0);
	profile_get_view(a, &v);
	assert_int_equal(v.sample_count, 3);
	assert_int_equal(total(&v), 70);
	assert_int_equal(v.dropped, 12);
	profile_close(a);
	profile_close(b);
}

static void samples_whose_span_is_lost_are_counted(void **state)
{
	struct profile_config config = {SAMPLE_PERIOD_NS, 1000, 1 << 20, 1};
	struct sample_input sample = {.span = PROFILE_SPAN_LOST, .count = 6};
	struct profile *a, *b = sample_profile(), *c;
	struct profile_view v;

	assert_int_equal(profile_open(&config, 1, &a), 0);
	assert_int_equal(profile_merge(a, b), 0);
	profile_get_view(a, &v);
	assert_int_equal(v.untagged, 20 + 3 + 4); /* all but the first span's, in samples */
	assert_int_equal(v.dropped, 0);
	assert_int_equal(profile_add(a, &sample), 0);
	sample.span = PROFILE_SPAN_UNSAMPLED;
	sample.count = 7;
	assert_int_equal(profile_add(a, &sample), 0);
	config.spans_max = 100;
	assert_int_equal(profile_open(&config, 1, &c), 0);
	assert_int_equal(profile_merge(c, a), 0);
	profile_get_view(c, &v);
	assert_int_equal(v.untagged, 33);
	assert_int_equal(v.unsampled, 7);
	assert_int_equal(total(&v), 95);
	assert_int_equal(profile_merge(c, b), 0);
	profile_get_view(c, &v);
	assert_int_equal(v.untagged, 33);
	profile_close(a);
	profile_close(b);
	profile_close(c);
}

static void lost_names_are_counted_and_carried_over(void **state)
{
	struct profile_config config = {SAMPLE_PERIOD_NS, 1000, 40, 100};
	struct profile *a, *b;
	struct profile_view v;

	assert_int_equal(profile_open(&config, 1, &a), 0);
	sample_resource(a, "shop", 17); /* no key and no text of it fits */
	profile_get_view(a, &v);
	assert_int_equal(v.names_lost, 4);
	config.strings_bytes_max = 1 << 20;
	assert_int_equal(profile_open(&config, 1, &b), 0);
	assert_int_equal(profile_merge(b, a), 0);
	assert_int_equal(profile_merge(b, a), 0);
	profile_get_view(b, &v);
	assert_int_equal(v.names_lost, 8);
	profile_close(a);
	profile_close(b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(holds_each_value_once),
		cmocka_unit_test(rows_tell_what_was_added),
		cmocka_unit_test(the_same_resource_has_one_handle),
		cmocka_unit_test(a_resource_is_renamed),
		cmocka_unit_test(a_service_without_a_name_is_its_executable),
		cmocka_unit_test(values_survive_forgotten_ids),
		cmocka_unit_test(a_sample_without_anything_is_not_the_zero_row),
		cmocka_unit_test(drops_at_the_cap_and_counts),
		cmocka_unit_test(cuts_a_stack_that_is_too_deep),
		cmocka_unit_test(merges_by_value),
		cmocka_unit_test(merging_scales_periods_and_keeps_the_sum),
		cmocka_unit_test(merging_into_a_small_profile_counts_what_is_lost),
		cmocka_unit_test(samples_whose_span_is_lost_are_counted),
		cmocka_unit_test(lost_names_are_counted_and_carried_over),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
