/* SPDX-License-Identifier: Apache-2.0 */
/* Reading OTLP requests: our own files whole again, other senders' shapes, and bad ones refused. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/bytes.h"
#include "base/string_table.h"
#include "format/format.h"
#include "otlp_request.h"
#include "profile_total.h"
#include "sample_profile.h"

static const struct format_otlp_options file = {.span_names = true};

static const char *text(const struct profile *p, uint32_t id)
{
	return string_table_get(profile_get_strings(p), id);
}

static void write_sample(struct buffer *out)
{
	struct profile *p = sample_profile();

	buffer_open(out, 1 << 20);
	assert_int_equal(format_otlp(p, &file, out), 0);
	profile_close(p);
}

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

static void a_file_reads_back_whole(void **state)
{
	const struct profile_location *l;
	const struct span *span;
	struct profile_view v;
	struct profile *p;
	struct buffer out;
	size_t i;

	write_sample(&out);
	p = read_back(out.data, out.size);
	profile_get_view(p, &v);
	assert_int_equal(v.period_ns, SAMPLE_PERIOD_NS);
	assert_int_equal(v.start_wall_ns, SAMPLE_START_NS);
	assert_int_equal(v.duration_ns, UINT64_C(10000000000));
	assert_int_equal(v.sample_count, 6);
	assert_int_equal(v.mapping_count, 4);
	assert_int_equal(v.function_count, 6);
	assert_int_equal(v.location_count, 6);
	assert_int_equal(v.resource_count, 3);
	assert_int_equal(total(p), 82);
	assert_int_equal(spans_count(profile_get_spans(p)), 4);
	for (i = 1; i < v.sample_count && v.samples[i].count != 50; i++)
		;
	span = spans_get(profile_get_spans(p), v.samples[i].span);
	assert_string_equal(text(p, span->name), "GET /cpu-heavy");
	assert_int_equal(span->trace_id[0], 0xa1);
	assert_int_equal(span->span_id[0], 0xb1);
	assert_int_equal(span->samples, 50);
	assert_int_equal(span->value_ns, 50 * (uint64_t)SAMPLE_PERIOD_NS);
	assert_int_equal(span->resource, v.samples[i].resource);
	assert_true(span->sampled);
	l = &v.locations[v.stack_locations[v.stacks[v.samples[i].stack].first_location]];
	assert_int_equal(l->address, 0x401234);
	assert_int_equal(l->kind, FRAME_GO);
	assert_int_equal(l->line_count, 2);
	assert_string_equal(text(p, v.functions[v.lines[l->first_line + 1].function].name),
			    "main.countPrimes[go.shape.int]");
	assert_string_equal(text(p, v.mappings[l->mapping].build_id_go), "abc/def");
	for (i = 1; i < v.sample_count && v.samples[i].count != 3; i++)
		;
	span = spans_get(profile_get_spans(p), v.samples[i].span);
	assert_string_equal(text(p, span->name), "not sampled");
	assert_false(span->sampled);
	for (i = 1; i < v.sample_count && v.samples[i].count != 5; i++)
		;
	assert_true(v.stacks[v.samples[i].stack].truncated);
	buffer_close(&out);
	profile_close(p);
}

static void writing_what_was_read_gives_the_same(void **state)
{
	struct buffer out, again;
	struct profile *p, *q;

	write_sample(&out);
	p = read_back(out.data, out.size);
	buffer_open(&again, 1 << 20);
	assert_int_equal(format_otlp(p, &file, &again), 0);
	assert_int_equal(again.size, out.size);
	q = read_back(again.data, again.size);
	assert_int_equal(total(q), 82);
	buffer_close(&again);
	buffer_close(&out);
	profile_close(p);
	profile_close(q);
}

static void appended_files_add_up(void **state)
{
	struct buffer out, both;
	struct profile *p;
	struct profile_view v;

	write_sample(&out);
	buffer_open(&both, 1 << 20);
	for (int i = 0; i < 3; i++)
		buffer_add(&both, out.data, out.size);
	p = read_back(both.data, both.size);
	profile_get_view(p, &v);
	assert_int_equal(total(p), 3 * 82);
	assert_int_equal(v.sample_count, 6);
	buffer_close(&out);
	buffer_close(&both);
	profile_close(p);
}

static void frames_of_a_collector_file(void **state)
{
	struct buffer out, framed;
	struct profile *p = NULL;
	char why[128];

	write_sample(&out);
	buffer_open(&framed, 1 << 20);
	for (int i = 0; i < 2; i++) {
		const uint8_t length[4] = {0, 0, (uint8_t)(out.size >> 8), (uint8_t)out.size};

		buffer_add(&framed, length, sizeof(length));
		buffer_add(&framed, out.data, out.size);
	}
	p = read_back(framed.data, framed.size);
	assert_int_equal(total(p), 164);
	profile_close(p);
	assert_int_equal(format_otlp_read(framed.data, framed.size - 1, &p, why, sizeof(why)),
			 -EBADMSG);
	assert_string_equal(why, "the last request in the file is cut off");
	buffer_close(&out);
	buffer_close(&framed);
}

static int read_request(const struct request *r, struct profile **out, char why[128])
{
	size_t size = otlp__request__get_packed_size(&r->request);
	uint8_t *data = malloc(size + 1);
	int err;

	why[0] = '\0';
	otlp__request__pack(&r->request, data);
	err = format_otlp_read(data, size, out, why, 128);
	free(data);
	return err;
}

static void shapes_of_other_senders(void **state)
{
	struct request *r = new_request();
	struct profile_view v;
	struct profile *p;
	char why[128];

	/* Resource attributes by reference, as Collectors from 0.161 send them. */
	r->attribute.key_strindex = 7;
	r->value.value_case = OTLP__ANY_VALUE__VALUE_STRING_VALUE_STRINDEX;
	r->value.string_value_strindex = 3;
	assert_int_equal(read_request(r, &p, why), 0);
	profile_get_view(p, &v);
	assert_int_equal(total(p), 12);
	assert_int_equal(v.period_ns, 1000);
	assert_int_equal(v.duration_ns, 7);
	assert_string_equal(text(p, v.attributes[1].key), "service.name");
	assert_string_equal(text(p, v.attributes[1].value), "cpu");
	assert_string_equal(text(p, v.functions[1].name), "main.\xef\xbf\xbd");
	assert_int_equal(v.locations[1].kind, FRAME_NATIVE);
	profile_close(p);

	r->sample.n_values = 2; /* one per timestamp */
	r->sample.n_timestamps_unix_nano = 2;
	assert_int_equal(read_request(r, &p, why), 0);
	assert_int_equal(total(p), 42);
	profile_close(p);

	r->sample.n_values = 0;
	r->sample.n_timestamps_unix_nano = 3;
	assert_int_equal(read_request(r, &p, why), 0);
	assert_int_equal(total(p), 3);
	profile_close(p);

	/* cpu/nanoseconds: 12 µs at a period of 1 µs. */
	r->sample.n_values = 1;
	r->sample.n_timestamps_unix_nano = 0;
	r->values[0] = 12000;
	r->type.type_strindex = 3;
	r->type.unit_strindex = 5;
	assert_int_equal(read_request(r, &p, why), 0);
	assert_int_equal(total(p), 12);
	profile_close(p);
	free(r);
}

/* Appends the request's resources ('R') and dictionary ('D') in the given order. */
static uint64_t total_of_order(const char *order)
{
	struct request *r = new_request();
	Otlp__Request part = OTLP__REQUEST__INIT;
	uint8_t data[4096];
	size_t size = 0;
	struct profile *p;
	uint64_t sum;

	for (const char *at = order; *at; at++) {
		part.dictionary = *at == 'D' ? &r->dictionary : NULL;
		part.resource_profiles = r->resources;
		part.n_resource_profiles = *at == 'R';
		size += otlp__request__pack(&part, data + size);
	}
	p = read_back(data, size);
	sum = total(p);
	profile_close(p);
	free(r);
	return sum;
}

static void fields_in_any_order(void **state)
{
	assert_int_equal(total_of_order("RD"), 12);
	assert_int_equal(total_of_order("DR"), 12);
	assert_int_equal(total_of_order("RDR"), 24);
	assert_int_equal(total_of_order("RRD"), 24);
	assert_int_equal(total_of_order("RDRD"), 24);
	assert_int_equal(total_of_order("DRDRR"), 36);
}

/* As 10,000 goroutines have it that wait at one place for a quarter of an hour. */
static void sums_of_any_size(void **state)
{
	struct request *r = new_request();
	struct profile *p;
	char why[128];

	r->values[0] = INT64_MAX;
	assert_int_equal(read_request(r, &p, why), 0);
	assert_true(total(p) == INT64_MAX);
	profile_close(p);
	free(r);
}

static void leaves_out_other_profiles(void **state)
{
	struct request *r = new_request();
	struct profile *p;
	char why[128];

	r->type.type_strindex = 6;
	assert_int_equal(read_request(r, &p, why), -EBADMSG);
	assert_string_equal(why, "no profile of CPU samples in it");
	free(r);
}

#define REFUSES(change, sentence)                                                                  \
	do {                                                                                       \
		struct request *r = new_request();                                                 \
		struct profile *p;                                                                 \
		char why[128];                                                                     \
                                                                                                   \
		change;                                                                            \
		assert_int_equal(read_request(r, &p, why), -EBADMSG);                              \
		assert_string_equal(why, sentence);                                                \
		free(r);                                                                           \
	} while (0)

static void refuses_bad_indices(void **state)
{
	REFUSES(r->sample.stack_index = 2, "the stack table has no entry 2 (it has 2)");
	REFUSES(r->sample.stack_index = -1, "the stack table has no entry -1 (it has 2)");
	REFUSES(r->sample.link_index = 9, "the link table has no entry 9 (it has 2)");
	REFUSES(r->stack_locations[0] = 77, "the location table has no entry 77 (it has 2)");
	REFUSES(r->location1.mapping_index = 2, "the mapping table has no entry 2 (it has 2)");
	REFUSES(r->line.function_index = 3, "the function table has no entry 3 (it has 2)");
	REFUSES(r->function1.name_strindex = 8, "the string table has no entry 8 (it has 8)");
	REFUSES(r->function1.filename_strindex = -8, "the string table has no entry -8 (it has 8)");
	REFUSES(r->mapping1.filename_strindex = 8, "the string table has no entry 8 (it has 8)");
	REFUSES(r->type.type_strindex = 8, "the string table has no entry 8 (it has 8)");
	REFUSES(r->attribute.key_strindex = 8, "the string table has no entry 8 (it has 8)");
	REFUSES((r->sample.attribute_indices = r->stack_locations,
		 r->sample.n_attribute_indices = 1),
		"the attribute table has no entry 1 (it has 0)");
	REFUSES(r->request.dictionary = NULL, "the string table has no entry 1 (it has 0)");
}

static void refuses_bad_values(void **state)
{
	REFUSES(r->values[0] = -1, "a sample has the value -1");
	REFUSES((r->values[0] = r->values[1] = INT64_MAX, r->sample.n_values = 2),
		"its values add up to more than a profile holds");
	REFUSES(r->profile.period = 0, "a profile of samples has the period 0");
	REFUSES(r->link1.trace_id.len = 15, "link 1 has IDs of 15 and 8 bytes");
	REFUSES(r->link1.span_id.len = 0, "link 1 has IDs of 16 and 0 bytes");
}

static void refuses_what_is_no_request(void **state)
{
	static const char *const cases[] = {"{\"resourceProfiles\":[]}", "\x1f\x8b\x08", "\n\x05x"};
	struct profile *p;
	char why[128];

	for (size_t i = 0; i < 3; i++) {
		assert_int_equal(format_otlp_read(cases[i], strlen(cases[i]), &p, why, sizeof(why)),
				 -EBADMSG);
		assert_string_equal(why, "not an OTLP profiles request");
	}
	assert_int_equal(format_otlp_read("", 0, &p, why, sizeof(why)), -EBADMSG);
	assert_string_equal(why, "no profile of CPU samples in it");
}

static void survives_every_cut(void **state)
{
	struct buffer out;
	struct profile *p;
	char why[128];
	size_t good = 0;

	write_sample(&out);
	for (size_t size = 0; size < out.size; size++) {
		int err = format_otlp_read(out.data, size, &p, why, sizeof(why));

		assert_true(!err || err == -EBADMSG);
		if (!err) {
			good++;
			profile_close(p);
		}
	}
	/* The dictionary comes last, so nothing shorter is whole. */
	assert_int_equal(good, 0);
	buffer_close(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_file_reads_back_whole),
		cmocka_unit_test(writing_what_was_read_gives_the_same),
		cmocka_unit_test(appended_files_add_up),
		cmocka_unit_test(frames_of_a_collector_file),
		cmocka_unit_test(shapes_of_other_senders),
		cmocka_unit_test(fields_in_any_order),
		cmocka_unit_test(sums_of_any_size),
		cmocka_unit_test(leaves_out_other_profiles),
		cmocka_unit_test(refuses_bad_indices),
		cmocka_unit_test(refuses_bad_values),
		cmocka_unit_test(refuses_what_is_no_request),
		cmocka_unit_test(survives_every_cut),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
