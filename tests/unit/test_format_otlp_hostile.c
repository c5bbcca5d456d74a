/* SPDX-License-Identifier: Apache-2.0 */
/* Small OTLP files that refer to something large very often: read or refused in bounded work. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/string_table.h"
#include "format/format.h"
#include "otlp_request.h"
#include "profile_total.h"
#include "profile/profile.h"
#include "spans/spans.h"

/* Each case takes a fraction of a second; unbounded, minutes to hours. */
#define SECONDS_MAX 20
#define MANY	    200000

static int read_request(const struct request *r, struct profile **out, char why[128])
{
	size_t size = otlp__request__get_packed_size(&r->request);
	uint8_t *data = malloc(size);
	int err;

	assert_non_null(data);
	why[0] = '\0';
	otlp__request__pack(&r->request, data);
	alarm(SECONDS_MAX);
	err = format_otlp_read(data, size, out, why, 128);
	alarm(0);
	free(data);
	return err;
}

/* An array of so many pointers to the same message. */
static void *repeat(void *message, size_t count)
{
	void **list = calloc(count, sizeof(*list));

	assert_non_null(list);
	for (size_t i = 0; i < count; i++)
		list[i] = message;
	return list;
}

static char *long_text(size_t size)
{
	char *text = malloc(size + 1);

	assert_non_null(text);
	memset(text, 'x', size);
	text[size] = '\0';
	return text;
}

static void repeat_samples(struct request *r, size_t count)
{
	r->profile.samples = repeat(&r->sample, count);
	r->profile.n_samples = count;
}

static void many_samples_of_a_stack_of_nothing(void **state)
{
	size_t depth = 4 << 20;
	struct request *r = new_request();
	int32_t *indices = calloc(depth, sizeof(*indices));
	struct profile_view v;
	struct profile *p;
	char why[128];

	repeat_samples(r, MANY);
	indices[depth - 1] = 1;
	r->stack1.location_indices = indices;
	r->stack1.n_location_indices = depth;
	assert_int_equal(read_request(r, &p, why), 0);
	profile_get_view(p, &v);
	assert_int_equal(total(p), 12 * (uint64_t)MANY);
	assert_int_equal(v.stack_count, 2);
	assert_int_equal(v.stacks[1].location_count, 1);
	assert_false(v.stacks[1].truncated);
	profile_close(p);
	free(indices);
	free(r->profile.samples);
	free(r);
}

static void many_samples_of_a_deep_stack(void **state)
{
	int32_t indices[2000];
	struct request *r = new_request();
	struct profile_view v;
	struct profile *p;
	char why[128];

	for (size_t i = 0; i < 2000; i++)
		indices[i] = 1 + (int32_t)i % 1024;
	r->location1.lines = repeat(&r->line, 128);
	r->location1.n_lines = 128;
	r->dictionary.location_table = repeat(&r->location1, 1025);
	r->dictionary.n_location_table = 1025;
	/* Each alone in a Profile: nothing of the stack may be walked again for the next. */
	r->scope.profiles = repeat(&r->profile, MANY);
	r->scope.n_profiles = MANY;
	r->stack1.location_indices = indices;
	r->stack1.n_location_indices = 2000;
	assert_int_equal(read_request(r, &p, why), 0);
	profile_get_view(p, &v);
	assert_int_equal(total(p), 12 * (uint64_t)MANY);
	assert_int_equal(v.stacks[1].location_count, 1024);
	assert_true(v.stacks[1].truncated);
	profile_close(p);
	free(r->dictionary.location_table);
	free(r->location1.lines);
	free(r->scope.profiles);
	free(r);
}

static void a_long_text_is_cut_once(void **state)
{
	struct request *r = new_request();
	char *text = long_text(4 << 20);
	struct profile_view v;
	struct profile *p;
	char why[128];

	r->strings[6] = text;
	r->location1.lines = repeat(&r->line, 1000);
	r->location1.n_lines = 1000;
	assert_int_equal(read_request(r, &p, why), 0);
	profile_get_view(p, &v);
	assert_int_equal(v.locations[1].line_count, 128);
	assert_int_equal(strlen(string_table_get(profile_get_strings(p),
						 v.functions[v.lines[1].function].name)),
			 16384);
	profile_close(p);
	free(r->location1.lines);
	free(text);
	free(r);
}

static void many_locations_with_a_long_name(void **state)
{
	struct request *r = new_request();
	char *text = long_text(1 << 20);
	struct profile *p;
	char why[128];

	r->strings[6] = text;
	r->dictionary.location_table = repeat(&r->location1, MANY);
	r->dictionary.n_location_table = MANY;
	assert_int_equal(read_request(r, &p, why), -EBADMSG);
	assert_string_equal(why, "it repeats its names more often than a profile does");
	free(r->dictionary.location_table);
	free(text);
	free(r);
}

static void many_samples_with_a_long_span_name(void **state)
{
	Otlp__AnyValue value = OTLP__ANY_VALUE__INIT;
	Otlp__Attribute nothing = OTLP__ATTRIBUTE__INIT, name = OTLP__ATTRIBUTE__INIT;
	Otlp__Attribute *attributes[2] = {&nothing, &name};
	struct request *r = new_request();
	char *text = long_text(1 << 20);
	int32_t one = 1;
	struct profile *p;
	char why[128];

	value.value_case = OTLP__ANY_VALUE__VALUE_STRING_VALUE;
	value.string_value = text;
	name.key_strindex = 7;
	name.value = &value;
	r->strings[7] = "span.name";
	r->dictionary.attribute_table = attributes;
	r->dictionary.n_attribute_table = 2;
	r->sample.attribute_indices = &one;
	r->sample.n_attribute_indices = 1;
	assert_int_equal(read_request(r, &p, why), 0);
	assert_int_equal(strlen(string_table_get(profile_get_strings(p),
						 spans_get(profile_get_spans(p), 1)->name)),
			 1023);
	profile_close(p);
	repeat_samples(r, MANY);
	assert_int_equal(read_request(r, &p, why), -EBADMSG);
	assert_string_equal(why, "it repeats its names more often than a profile does");
	free(r->profile.samples);
	free(text);
	free(r);
}

/* 64 attributes of 16 KiB, in an entry of a few hundred bytes. */
static void a_large_resource(void **state)
{
	struct request *r = new_request();
	char *text = long_text(16384);
	struct profile_view v;
	struct profile *p;
	char why[128];

	r->strings[6] = text;
	r->attribute.key_strindex = 7;
	r->value.value_case = OTLP__ANY_VALUE__VALUE_STRING_VALUE_STRINDEX;
	r->value.string_value_strindex = 6;
	r->resource.attributes = repeat(&r->attribute, 64);
	r->resource.n_attributes = 64;
	r->scope.profiles = repeat(&r->profile, MANY);
	r->scope.n_profiles = MANY;
	assert_int_equal(read_request(r, &p, why), 0);
	profile_get_view(p, &v);
	assert_int_equal(total(p), 12 * (uint64_t)MANY);
	assert_int_equal(v.resources[1].attribute_count, 64);
	profile_close(p);
	free(r->scope.profiles);
	r->scope.profiles = r->profiles;
	r->scope.n_profiles = 1;
	r->request.resource_profiles = repeat(&r->resource_profiles, MANY / 100);
	r->request.n_resource_profiles = MANY / 100;
	assert_int_equal(read_request(r, &p, why), -EBADMSG);
	assert_string_equal(why, "it repeats its names more often than a profile does");
	free(r->request.resource_profiles);
	free(r->resource.attributes);
	free(text);
	free(r);
}

/* Two bytes each in the file, some hundred in memory. */
static void empty_messages(void **state)
{
	struct request *r = new_request();
	struct profile *p;
	char why[128];

	r->dictionary.mapping_table = repeat(&r->mapping0, 500);
	r->dictionary.n_mapping_table = 500;
	assert_int_equal(read_request(r, &p, why), 0);
	assert_int_equal(total(p), 12);
	profile_close(p);
	free(r->dictionary.mapping_table);
	r->dictionary.mapping_table = repeat(&r->mapping0, MANY);
	r->dictionary.n_mapping_table = MANY;
	assert_int_equal(read_request(r, &p, why), -ENOMEM);
	assert_string_equal(why, "too large once unpacked, or out of memory");
	free(r->dictionary.mapping_table);
	free(r);
}

static void a_file_over_the_limit(void **state)
{
	struct profile *p;
	char why[128];

	/* Refused before anything of it is looked at. */
	assert_int_equal(format_otlp_read("", FORMAT_OTLP_FILE_BYTES_MAX + 1, &p, why, sizeof(why)),
			 -EBADMSG);
	assert_string_equal(why, "larger than 128 MiB");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(many_samples_of_a_stack_of_nothing),
		cmocka_unit_test(many_samples_of_a_deep_stack),
		cmocka_unit_test(a_long_text_is_cut_once),
		cmocka_unit_test(many_locations_with_a_long_name),
		cmocka_unit_test(many_samples_with_a_long_span_name),
		cmocka_unit_test(a_large_resource),
		cmocka_unit_test(empty_messages),
		cmocka_unit_test(a_file_over_the_limit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
