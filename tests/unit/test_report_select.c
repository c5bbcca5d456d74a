/* SPDX-License-Identifier: Apache-2.0 */
/* A selected profile holds exactly the samples asked for, and all that they need. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/bytes.h"
#include "base/string_table.h"
#include "report/report.h"
#include "report/select.h"
#include "shop_profile.h"

static struct shop shop;
static struct profile *chosen;
static struct profile_view view;

static int open_shop(void **state)
{
	shop_open(&shop);
	shop_fill(&shop);
	return 0;
}

static int close_all(void **state)
{
	profile_close(chosen);
	chosen = NULL;
	shop_close(&shop);
	return 0;
}

static uint64_t select_samples(const struct report_options *filter)
{
	uint64_t count = 0;

	profile_close(chosen);
	assert_int_equal(report_select(shop.profile, filter, &chosen), 0);
	profile_get_view(chosen, &view);
	for (size_t i = 1; i < view.sample_count; i++)
		count += view.samples[i].count;
	assert_int_equal(view.dropped, 0);
	assert_int_equal(view.period_ns, SHOP_PERIOD_NS);
	assert_true(view.start_wall_ns == SHOP_START_NS);
	assert_true(view.duration_ns == UINT64_C(30000000000));
	return count;
}

#define SELECT(...) select_samples(&(struct report_options){__VA_ARGS__})

static const char *string(uint32_t id)
{
	return string_table_get(profile_get_strings(chosen), id);
}

static char *render(const struct profile *p, const struct report_options *options)
{
	struct buffer out;
	char *text;

	buffer_open(&out, 1 << 20);
	assert_int_equal(report_terminal(p, options, &out), 0);
	text = strndup((const char *)out.data, out.size);
	buffer_close(&out);
	return text;
}

static void everything(void **state)
{
	const struct report_options all = {.columns = 120, .spans_max = 100};
	struct profile_view from;
	char *before, *after;

	profile_get_view(shop.profile, &from);
	assert_int_equal(select_samples(&all), 1000);
	assert_int_equal(view.sample_count, from.sample_count);
	assert_int_equal(view.stack_count, from.stack_count);
	assert_int_equal(view.location_count, from.location_count);
	assert_int_equal(view.mapping_count, from.mapping_count);
	assert_int_equal(view.resource_count, from.resource_count);
	before = render(shop.profile, &all);
	after = render(chosen, &all);
	assert_string_equal(before, after);
	free(before);
	free(after);
}

static void one_span(void **state)
{
	const struct profile_mapping *mapping;
	const struct profile_location *leaf;
	const struct profile_function *function;
	const struct span *span;

	assert_int_equal(SELECT(.span_id = "64000000000000b7"), 300);
	assert_int_equal(view.sample_count, 1 + 2);
	assert_int_equal(view.resource_count, 1 + 1);
	assert_int_equal(spans_count(profile_get_spans(chosen)), 1);
	span = spans_get(profile_get_spans(chosen), view.samples[1].span);
	assert_non_null(span);
	assert_int_equal(span->span_id[0], 0x64);
	assert_int_equal(span->trace_id[0], 0x2f);
	assert_true(span->sampled);
	assert_int_equal(span->first_ns, 100);
	assert_string_equal(string(span->name), "GET /cpu-heavy");
	assert_int_equal(span->resource, view.samples[1].resource);
	assert_int_equal(view.samples[1].count, 270);
	leaf = &view.locations
			[view.stack_locations[view.stacks[view.samples[1].stack].first_location]];
	assert_int_equal(leaf->line_count, 1);
	assert_int_equal(leaf->address, 0x400000 + 16 * SHOP_PRIMES);
	assert_int_equal(view.lines[leaf->first_line].line, 42);
	function = &view.functions[view.lines[leaf->first_line].function];
	assert_string_equal(string(function->name), "main.countPrimes");
	assert_string_equal(string(function->file), "/srv/shop/main.go");
	assert_int_equal(function->start_line, 36);
	mapping = &view.mappings[leaf->mapping];
	assert_int_equal(mapping->memory_start, 0x400000);
	assert_int_equal(mapping->memory_limit, 0x900000);
	assert_string_equal(string(mapping->file), "/srv/shop/shop");
	assert_string_equal(string(mapping->build_id_go), "go/id");
}

static void by_service(void **state)
{
	const struct profile_resource *resource;
	const struct profile_attribute *attribute;

	assert_int_equal(SELECT(.service = "cart"), 70);
	assert_int_equal(view.resource_count, 1 + 1);
	resource = &view.resources[1];
	assert_int_equal(resource->attribute_count, 2);
	attribute = &view.attributes[resource->first_attribute];
	assert_string_equal(string(attribute[0].key), "process.pid");
	assert_true(attribute[0].is_integer);
	assert_int_equal(attribute[0].number, 7);
	assert_string_equal(string(attribute[1].value), "cart");
	assert_int_equal(SELECT(.service = "nobody"), 0);
	assert_int_equal(view.sample_count, 1);
}

static void by_name_and_trace(void **state)
{
	assert_int_equal(SELECT(.span_name = "serialize"), 240);
	assert_int_equal(spans_count(profile_get_spans(chosen)), 20);
	assert_int_equal(SELECT(.span_name = "serialize", .service = "cart"), 0);
	assert_int_equal(SELECT(.trace_id = "2e0000006500000065000000650000"), 200);
	assert_int_equal(SELECT(.trace_id = "2e000000650000006500000065000001"), 0);
}

static void truncation_stays(void **state)
{
	const struct location *leaf[] = {shop.at[SHOP_PRIMES]};
	const struct sample_input cut = {leaf, 1, true, shop.shop, 0, 3};

	assert_int_equal(profile_add(shop.profile, &cut), 0);
	assert_int_equal(SELECT(.service = "shop"), 933);
	for (size_t i = 1; i < view.sample_count; i++)
		assert_int_equal(view.stacks[view.samples[i].stack].truncated,
				 view.samples[i].count == 3);
}

/* Few samples at many places of many inlined functions: more than a profile of so few may hold. */
static void as_much_room_as_the_source(void **state)
{
	enum { LOCATIONS = 1000, FRAMES = 40 };
	static char names[LOCATIONS * FRAMES][8];
	static struct location *made[LOCATIONS];
	const struct location *stack[LOCATIONS];
	struct sample_input sample = {.locations = stack, .location_count = LOCATIONS, .count = 1};
	const struct profile_config config = {SHOP_PERIOD_NS, 100000, 64 << 20, 10};
	struct profile_view from;
	struct profile *p;

	assert_int_equal(profile_open(&config, SHOP_START_NS, &p), 0);
	for (size_t i = 0; i < LOCATIONS; i++) {
		made[i] = calloc(1, sizeof(*made[i]) + FRAMES * sizeof(struct frame));
		made[i]->id = i + 1;
		made[i]->frame_count = FRAMES;
		for (size_t j = 0; j < FRAMES; j++) {
			char *name = names[i * FRAMES + j];

			snprintf(name, sizeof(names[0]), "f%zu", i * FRAMES + j);
			made[i]->frames[j] = (struct frame){.function = name, .file = ""};
		}
		stack[i] = made[i];
	}
	assert_int_equal(profile_add(p, &sample), 0);
	profile_get_view(p, &from);
	assert_int_equal(report_select(p, &(struct report_options){0}, &chosen), 0);
	profile_get_view(chosen, &view);
	assert_int_equal(view.dropped, 0);
	assert_int_equal(view.sample_count, 2);
	assert_int_equal(view.function_count, from.function_count);
	assert_int_equal(view.line_count, 1 + LOCATIONS * FRAMES);
	for (size_t i = 0; i < LOCATIONS; i++)
		free(made[i]);
	profile_close(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(everything, open_shop, close_all),
		cmocka_unit_test_setup_teardown(one_span, open_shop, close_all),
		cmocka_unit_test_setup_teardown(by_service, open_shop, close_all),
		cmocka_unit_test_setup_teardown(by_name_and_trace, open_shop, close_all),
		cmocka_unit_test_setup_teardown(truncation_stays, open_shop, close_all),
		cmocka_unit_test_setup_teardown(as_much_room_as_the_source, open_shop, close_all),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
