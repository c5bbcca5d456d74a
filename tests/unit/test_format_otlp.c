/* SPDX-License-Identifier: Apache-2.0 */
/* OTLP requests: what is in them, table by table, how they are split, and that they read back. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/bytes.h"
#include "base/string_table.h"
#include "format/format.h"
#include "otlp_profiles.pb-c.h"
#include "sample_profile.h"

static const struct format_otlp_options wire = {.span_names = false, .agent_version = "1.2.3"};
static const struct format_otlp_options file = {.span_names = true, .agent_version = "1.2.3"};

static Otlp__Request *encode(const struct profile *p, const struct format_otlp_options *options)
{
	struct buffer out;
	Otlp__Request *m;

	buffer_open(&out, 1 << 20);
	assert_int_equal(format_otlp(p, options, &out), 0);
	m = otlp__request__unpack(NULL, out.size, out.data);
	assert_non_null(m);
	buffer_close(&out);
	return m;
}

static const Otlp__Profile *profile_of(const Otlp__Request *m, size_t resource)
{
	return m->resource_profiles[resource]->scope_profiles[0]->profiles[0];
}

static void index_0_is_the_zero_value(void **state)
{
	struct profile *p = sample_profile();
	Otlp__Request *m = encode(p, &wire);
	const Otlp__Dictionary *d = m->dictionary;

	assert_string_equal(d->string_table[0], "");
	assert_int_equal(otlp__mapping__get_packed_size(d->mapping_table[0]), 0);
	assert_int_equal(otlp__location__get_packed_size(d->location_table[0]), 0);
	assert_int_equal(otlp__function__get_packed_size(d->function_table[0]), 0);
	assert_int_equal(otlp__link__get_packed_size(d->link_table[0]), 0);
	assert_int_equal(otlp__attribute__get_packed_size(d->attribute_table[0]), 0);
	assert_int_equal(otlp__stack__get_packed_size(d->stack_table[0]), 0);
	otlp__request__free_unpacked(m, NULL);
	profile_close(p);
}

static void a_request_for_the_wire(void **state)
{
	struct profile *p = sample_profile();
	Otlp__Request *m = encode(p, &wire);
	const Otlp__Dictionary *d = m->dictionary;
	const Otlp__Profile *shop, *cart;
	const Otlp__Resource *resource;
	const Otlp__Link *link;

	assert_int_equal(m->n_resource_profiles, 2);
	resource = m->resource_profiles[0]->resource;
	assert_int_equal(resource->n_attributes, 3);
	assert_string_equal(resource->attributes[0]->key, "service.name");
	assert_string_equal(resource->attributes[0]->value->string_value, "shop");
	assert_int_equal(resource->attributes[1]->value->int_value, 17);
	assert_string_equal(m->resource_profiles[0]->scope_profiles[0]->scope->name, "spanprof");
	assert_string_equal(m->resource_profiles[0]->scope_profiles[0]->scope->version, "1.2.3");
	shop = profile_of(m, 0);
	cart = profile_of(m, 1);
	assert_int_equal(shop->n_samples, 4);
	assert_int_equal(cart->n_samples, 1);
	assert_int_equal(shop->period, SAMPLE_PERIOD_NS);
	assert_int_equal(shop->time_unix_nano, SAMPLE_START_NS);
	assert_int_equal(shop->duration_nano, UINT64_C(10000000000));
	assert_int_equal(shop->profile_id.len, 16);
	assert_memory_not_equal(shop->profile_id.data, cart->profile_id.data, 16);
	assert_string_equal(d->string_table[shop->sample_type->type_strindex], "samples");
	assert_string_equal(d->string_table[shop->sample_type->unit_strindex], "count");
	assert_string_equal(d->string_table[shop->period_type->type_strindex], "cpu");
	assert_string_equal(d->string_table[shop->period_type->unit_strindex], "nanoseconds");
	/* The first stack: 3 samples of the span that was not sampled, 50 of the linked one. */
	assert_int_equal(shop->samples[0]->link_index, 0);
	assert_int_equal(shop->samples[0]->values[0], 3);
	assert_int_equal(shop->samples[1]->values[0], 50);
	assert_int_equal(shop->samples[1]->n_values, 1);
	assert_int_equal(shop->samples[1]->n_attribute_indices, 0);
	link = d->link_table[shop->samples[1]->link_index];
	assert_int_equal(link->trace_id.len, 16);
	assert_int_equal(link->trace_id.data[0], 0xa1);
	assert_int_equal(link->span_id.len, 8);
	assert_int_equal(link->span_id.data[7], 0xb1);
	assert_int_equal(d->n_link_table, 4);
	assert_int_equal(d->n_stack_table, 4);
	assert_int_equal(d->n_location_table, 6);
	assert_int_equal(d->n_function_table, 6);
	assert_int_equal(d->n_mapping_table, 4);
	assert_int_equal(d->n_attribute_table, 1 + 3 + 2);
	for (size_t i = 0; i < d->n_string_table; i++)
		assert_null(strstr(d->string_table[i], "GET"));
	otlp__request__free_unpacked(m, NULL);
	profile_close(p);
}

static void locations_carry_names_and_attributes(void **state)
{
	struct profile *p = sample_profile();
	Otlp__Request *m = encode(p, &wire);
	const Otlp__Dictionary *d = m->dictionary;
	const Otlp__Stack *stack = d->stack_table[profile_of(m, 0)->samples[0]->stack_index];
	const Otlp__Location *l = d->location_table[stack->location_indices[0]];
	const Otlp__Function *f = d->function_table[l->lines[1]->function_index];
	const Otlp__Mapping *mapping = d->mapping_table[l->mapping_index];
	const Otlp__Attribute *a = d->attribute_table[l->attribute_indices[0]];

	assert_int_equal(stack->n_location_indices, 2);
	assert_int_equal(l->address, 0x401234);
	assert_int_equal(l->n_lines, 2);
	assert_int_equal(l->lines[1]->line, 31);
	assert_string_equal(d->string_table[f->name_strindex], "main.countPrimes[go.shape.int]");
	assert_int_equal(f->name_strindex, f->system_name_strindex);
	assert_string_equal(d->string_table[f->filename_strindex], "/src/primes.go");
	assert_int_equal(f->start_line, 30);
	assert_string_equal(d->string_table[a->key_strindex], "profile.frame.type");
	assert_string_equal(a->value->string_value, "go");
	assert_int_equal(mapping->memory_start, 0x400000);
	assert_int_equal(mapping->memory_limit, 0x900000);
	assert_string_equal(d->string_table[mapping->filename_strindex], "/srv/shop");
	assert_int_equal(mapping->n_attribute_indices, 1);
	a = d->attribute_table[mapping->attribute_indices[0]];
	assert_string_equal(d->string_table[a->key_strindex], "process.executable.build_id.go");
	assert_string_equal(a->value->string_value, "abc/def");
	otlp__request__free_unpacked(m, NULL);
	profile_close(p);
}

static void adds_up_what_the_wire_cannot_tell_apart(void **state)
{
	struct profile *p = sample_profile();
	struct location *at[AT_LOCATIONS];
	Otlp__Request *m;

	sample_locations(at);
	const struct location *stack[] = {at[AT_LIBC], at[AT_MAIN]};
	struct sample_input whole = {stack, 2, false, 1, 0, 7};
	struct sample_input unsampled = {stack, 2, false, 1, 3, 11};

	assert_int_equal(profile_add(p, &whole), 0);
	assert_int_equal(profile_add(p, &unsampled), 0);
	m = encode(p, &wire);
	assert_int_equal(m->dictionary->n_stack_table, 4);
	assert_int_equal(profile_of(m, 0)->n_samples, 4);
	assert_int_equal(profile_of(m, 0)->samples[3]->values[0], 5 + 7 + 11);
	otlp__request__free_unpacked(m, NULL);
	m = encode(p, &file);
	assert_int_equal(profile_of(m, 0)->n_samples, 6);
	/* Cut and whole are told apart by an attribute, not by a second entry of the same stack. */
	assert_int_equal(m->dictionary->n_stack_table, 4);
	otlp__request__free_unpacked(m, NULL);
	sample_free(at);
	profile_close(p);
}

static void keeps_the_service_among_many_attributes(void **state)
{
	struct resource_attribute attributes[20];
	struct profile *p = sample_profile();
	struct sample_input sample = {.count = 1};
	const Otlp__Resource *resource;
	char keys[20][16];
	Otlp__Request *m;

	for (int i = 0; i < 20; i++) {
		snprintf(keys[i], sizeof(keys[i]), "key.%d", i == 3 ? 2 : i);
		attributes[i] = (struct resource_attribute){.key = keys[i], .value = "v"};
	}
	attributes[18] = (struct resource_attribute){.key = "service.name", .value = "last"};
	sample.resource = profile_add_resource(p, attributes, 20);
	assert_int_equal(profile_add(p, &sample), 0);
	m = encode(p, &wire);
	resource = m->resource_profiles[2]->resource;
	assert_int_equal(resource->n_attributes, 12);
	assert_string_equal(resource->attributes[0]->value->string_value, "last");
	assert_string_equal(resource->attributes[3]->key, "key.2");
	assert_string_equal(resource->attributes[4]->key, "key.4");
	otlp__request__free_unpacked(m, NULL);
	profile_close(p);
}

static void a_function_named_like_our_words(void **state)
{
	struct profile *p = sample_profile();
	struct frame frame = {"samples", "cpu", 0, 0};
	struct location *l = sample_location(99, 1, NULL, FRAME_NATIVE, 1, &frame);
	const struct location *stack[] = {l};
	struct sample_input sample = {stack, 1, false, 1, 0, 1};
	Otlp__Request *m;
	int found = 0;

	assert_int_equal(profile_add(p, &sample), 0);
	m = encode(p, &wire);
	for (size_t i = 0; i < m->dictionary->n_string_table; i++)
		found += !strcmp(m->dictionary->string_table[i], "samples");
	assert_int_equal(found, 1);
	otlp__request__free_unpacked(m, NULL);
	free(l);
	profile_close(p);
}

static void says_when_the_buffer_is_too_small(void **state)
{
	struct profile *p = sample_profile();
	struct buffer out;

	buffer_open(&out, 100);
	assert_int_equal(format_otlp(p, &wire, &out), -EFBIG);
	assert_int_equal(out.size, 0);
	buffer_close(&out);
	profile_close(p);
}

struct parts {
	size_t requests, largest_bytes;
	uint64_t samples, values;
	size_t stop_after;
};

static int count_part(void *context, struct buffer *request, uint64_t samples)
{
	struct parts *parts = context;
	struct profile *back;
	struct profile_view v;
	char why[128];

	if (parts->requests == parts->stop_after)
		return -ECANCELED;
	parts->requests++;
	parts->samples += samples;
	if (request->size > parts->largest_bytes)
		parts->largest_bytes = request->size;
	assert_int_equal(format_otlp_read(request->data, request->size, &back, why, sizeof(why)),
			 0);
	profile_get_view(back, &v);
	for (size_t i = 1; i < v.sample_count; i++)
		parts->values += v.samples[i].count;
	profile_close(back);
	return 0;
}

/* 2000 samples with stacks of their own. */
static struct profile *big_profile(void)
{
	struct profile *p = NULL;
	struct profile_config config = {SAMPLE_PERIOD_NS, 5000, 4 << 20, 10};

	assert_int_equal(profile_open(&config, SAMPLE_START_NS, &p), 0);
	sample_resource(p, "shop", 1);
	sample_resource(p, "cart", 2);
	for (uint32_t i = 0; i < 2000; i++) {
		char name[128];
		struct frame frame = {name, "/src/a.go", i, 0};
		struct location *l;

		snprintf(name, sizeof(name), "main.function%098u", i);
		l = sample_location(100 + i, i, &sample_shop, FRAME_GO, 1, &frame);
		const struct location *stack[] = {l};
		struct sample_input sample = {stack, 1, false, 1 + i % 2, 0, 2};

		assert_int_equal(profile_add(p, &sample), 0);
		free(l);
	}
	profile_set_end(p, SAMPLE_END_NS);
	return p;
}

static void splits_what_is_too_large(void **state)
{
	struct parts parts = {.stop_after = SIZE_MAX};
	struct profile *p = big_profile();

	assert_int_equal(format_otlp_each(p, &wire, 4 << 20, count_part, &parts), 0);
	assert_int_equal(parts.requests, 1);
	assert_int_equal(parts.samples, 4000);
	parts = (struct parts){.stop_after = SIZE_MAX};
	assert_int_equal(format_otlp_each(p, &wire, 50000, count_part, &parts), 0);
	assert_in_range(parts.requests, 6, 16);
	assert_in_range(parts.largest_bytes, 20000, 50000);
	assert_int_equal(parts.samples, 4000);
	assert_int_equal(parts.values, 4000);
	parts = (struct parts){.stop_after = 2};
	assert_int_equal(format_otlp_each(p, &wire, 50000, count_part, &parts), -ECANCELED);
	assert_int_equal(parts.requests, 2);
	parts = (struct parts){.stop_after = SIZE_MAX};
	assert_int_equal(format_otlp_each(p, &wire, 300, count_part, &parts), -EFBIG);
	assert_int_equal(parts.requests, 0);
	profile_close(p);
}

static void nothing_to_send_is_no_request(void **state)
{
	struct profile_config config = {SAMPLE_PERIOD_NS, 10, 1 << 16, 10};
	struct parts parts = {.stop_after = SIZE_MAX};
	struct profile_view v;
	struct profile *p, *back;
	struct buffer out;
	char why[128];

	assert_int_equal(profile_open(&config, SAMPLE_START_NS, &p), 0);
	assert_int_equal(format_otlp_each(p, &wire, 1 << 20, count_part, &parts), 0);
	assert_int_equal(parts.requests, 0);
	/* A file of a run without samples can be shown all the same. */
	buffer_open(&out, 1 << 20);
	assert_int_equal(format_otlp(p, &file, &out), 0);
	assert_int_equal(format_otlp_read(out.data, out.size, &back, why, sizeof(why)), 0);
	profile_get_view(back, &v);
	assert_int_equal(v.sample_count, 1);
	assert_int_equal(v.period_ns, SAMPLE_PERIOD_NS);
	assert_int_equal(v.start_wall_ns, SAMPLE_START_NS);
	buffer_close(&out);
	profile_close(back);
	profile_close(p);
}

static void a_count_beyond_int64_is_capped(void **state)
{
	struct profile *p = sample_profile();
	struct sample_input sample = {.count = UINT64_MAX};
	Otlp__Request *m;

	assert_int_equal(profile_add(p, &sample), 0);
	m = encode(p, &wire);
	assert_int_equal(profile_of(m, 0)->samples[0]->values[0], INT64_MAX);
	otlp__request__free_unpacked(m, NULL);
	profile_close(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(index_0_is_the_zero_value),
		cmocka_unit_test(a_request_for_the_wire),
		cmocka_unit_test(locations_carry_names_and_attributes),
		cmocka_unit_test(adds_up_what_the_wire_cannot_tell_apart),
		cmocka_unit_test(keeps_the_service_among_many_attributes),
		cmocka_unit_test(a_function_named_like_our_words),
		cmocka_unit_test(says_when_the_buffer_is_too_small),
		cmocka_unit_test(splits_what_is_too_large),
		cmocka_unit_test(nothing_to_send_is_no_request),
		cmocka_unit_test(a_count_beyond_int64_is_capped),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
