/* SPDX-License-Identifier: Apache-2.0 */
/* pprof files and folded stacks, decoded and compared with what went in. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/bytes.h"
#include "base/string_table.h"
#include "encoded_pprof.h"
#include "format/format.h"
#include "sample_profile.h"

static const char *label(const Pprof__Profile *m, const Pprof__Sample *sample, const char *key)
{
	for (size_t i = 0; i < sample->n_label; i++)
		if (!strcmp(m->string_table[sample->label[i]->key], key))
			return m->string_table[sample->label[i]->str];
	return "";
}

static void types_and_times(void **state)
{
	struct profile *p = sample_profile();
	Pprof__Profile *m = encode(p);

	assert_string_equal(m->string_table[0], "");
	assert_int_equal(m->n_sample_type, 2);
	assert_string_equal(m->string_table[m->sample_type[0]->type], "samples");
	assert_string_equal(m->string_table[m->sample_type[0]->unit], "count");
	assert_string_equal(m->string_table[m->sample_type[1]->type], "cpu");
	assert_string_equal(m->string_table[m->sample_type[1]->unit], "nanoseconds");
	assert_string_equal(m->string_table[m->period_type->type], "cpu");
	assert_string_equal(m->string_table[m->default_sample_type], "cpu");
	assert_int_equal(m->period, SAMPLE_PERIOD_NS);
	assert_int_equal(m->time_nanos, SAMPLE_START_NS);
	assert_int_equal(m->duration_nanos, UINT64_C(10000000000));
	pprof__profile__free_unpacked(m, NULL);
	profile_close(p);
}

static void samples_and_labels(void **state)
{
	struct profile *p = sample_profile();
	Pprof__Profile *m = encode(p);
	const Pprof__Sample *first, *outside;

	assert_int_equal(m->n_sample, 5);
	first = m->sample[0];
	assert_int_equal(first->value[0], 50);
	assert_int_equal(first->value[1], 50 * (int64_t)SAMPLE_PERIOD_NS);
	assert_string_equal(label(m, first, "trace_id"), "a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1");
	assert_string_equal(label(m, first, "span_id"), "b1b1b1b1b1b1b1b1");
	assert_string_equal(label(m, first, "span_name"), "GET /cpu-heavy");
	assert_string_equal(label(m, first, "service"), "shop");
	outside = m->sample[2];
	assert_int_equal(outside->value[0], 5);
	assert_int_equal(outside->n_label, 1);
	assert_string_equal(label(m, m->sample[4], "service"), "cart");
	pprof__profile__free_unpacked(m, NULL);
	profile_close(p);
}

static void locations_are_resolved(void **state)
{
	struct profile *p = sample_profile();
	Pprof__Profile *m = encode(p);
	const Pprof__Location *leaf;
	const Pprof__Function *f;
	const Pprof__Mapping *shop, *libc, *kernel;

	assert_int_equal(m->n_location, 5);
	leaf = m->location[m->sample[0]->location_id[0] - 1];
	assert_int_equal(leaf->address, 0x401234);
	assert_int_equal(leaf->n_line, 2);
	assert_int_equal(leaf->line[1]->line, 31);
	f = m->function[leaf->line[1]->function_id - 1];
	assert_int_equal(f->id, leaf->line[1]->function_id);
	assert_string_equal(m->string_table[f->name], "main.countPrimes[go.shape.int]");
	assert_int_equal(f->name, f->system_name);
	assert_string_equal(m->string_table[f->filename], "/src/primes.go");
	assert_int_equal(f->start_line, 30);
	assert_int_equal(m->n_mapping, 3);
	shop = m->mapping[leaf->mapping_id - 1];
	assert_string_equal(m->string_table[shop->filename], "/srv/shop");
	assert_true(shop->has_functions && shop->has_filenames && shop->has_line_numbers &&
		    shop->has_inline_frames);
	kernel = m->mapping[1];
	assert_string_equal(m->string_table[kernel->filename], "[kernel]");
	assert_true(kernel->has_functions && !kernel->has_filenames && !kernel->has_line_numbers);
	libc = m->mapping[2];
	assert_false(libc->has_functions);
	assert_string_equal(m->string_table[libc->build_id], "0123456789abcdef");
	pprof__profile__free_unpacked(m, NULL);
	profile_close(p);
}

static void the_program_comes_first(void **state)
{
	struct profile_config config = {SAMPLE_PERIOD_NS, 10, 1 << 16, 10};
	struct location *at[AT_LOCATIONS];
	struct profile *p = NULL;
	Pprof__Profile *m;

	assert_int_equal(profile_open(&config, SAMPLE_START_NS, &p), 0);
	sample_locations(at);
	const struct location *stack[] = {at[AT_KERNEL], at[AT_LIBC], at[AT_MAIN]};
	struct sample_input sample = {stack, 3, false, sample_resource(p, "shop", 17), 0, 1};

	assert_int_equal(profile_add(p, &sample), 0);
	m = encode(p);
	assert_int_equal(m->n_mapping, 3);
	assert_string_equal(m->string_table[m->mapping[0]->filename], "/srv/shop");
	/* The locations still find theirs. */
	for (size_t i = 0; i < m->n_mapping; i++)
		if (m->mapping[i]->id == m->location[0]->mapping_id)
			assert_string_equal(m->string_table[m->mapping[i]->filename], "[kernel]");
	pprof__profile__free_unpacked(m, NULL);
	sample_free(at);
	profile_close(p);
}

/* A sample of whose stack nothing is known is seen all the same. */
static void nothing_known(void **state)
{
	struct profile *p = sample_profile();
	struct sample_input sample = {NULL, 0, true, 1, 0, 6};
	const Pprof__Location *location;
	const Pprof__Sample *last;
	struct buffer out;
	Pprof__Profile *m;

	assert_int_equal(profile_add(p, &sample), 0);
	m = encode(p);
	assert_int_equal(m->n_location, 6);
	last = m->sample[m->n_sample - 1];
	assert_int_equal(last->value[0], 6);
	assert_int_equal(last->n_location_id, 1);
	location = m->location[5];
	assert_int_equal(last->location_id[0], location->id);
	assert_int_equal(location->id, 6);
	assert_int_equal(location->mapping_id, 0);
	assert_int_equal(location->n_line, 1);
	assert_int_equal(m->function[m->n_function - 1]->id, m->n_function);
	assert_int_equal(location->line[0]->function_id, m->n_function);
	assert_string_equal(m->string_table[m->function[m->n_function - 1]->name], "[unknown]");
	pprof__profile__free_unpacked(m, NULL);
	buffer_open(&out, 1 << 16);
	assert_int_equal(format_folded(p, &out), 0);
	buffer_add(&out, "", 1);
	assert_non_null(strstr((char *)out.data, "shop;[no span];[unknown] 6\n"));
	buffer_close(&out);
	profile_close(p);
}

static void too_small_a_buffer(void **state)
{
	struct profile *p = sample_profile();
	struct buffer out;

	buffer_open(&out, 64);
	assert_int_equal(format_pprof(p, &out), -EFBIG);
	buffer_close(&out);
	buffer_open(&out, 64);
	assert_int_equal(format_folded(p, &out), -EFBIG);
	buffer_close(&out);
	profile_close(p);
}

static void folded_lines(void **state)
{
	struct profile *p = sample_profile();
	struct location *at[AT_LOCATIONS];
	struct buffer out;

	/* Another span of the same name: the same line. */
	sample_locations(at);
	const struct location *primes[] = {at[AT_COUNT], at[AT_MAIN]};
	struct sample_input sample = {primes, 2, false, 1, 0, 8};

	sample.span = sample_span(p, 0xc3, 0x09, "GET /cpu-heavy", 1, true);
	assert_int_equal(profile_add(p, &sample), 0);
	buffer_open(&out, 1 << 16);
	assert_int_equal(format_folded(p, &out), 0);
	buffer_add(&out, "", 1);
	assert_string_equal(
		(char *)out.data,
		"shop;[no span];main.main;libc.so.6+0x27000 5\n"
		"shop;GET /cpu-heavy;main.main;main.countPrimes[go.shape.int];main.isPrime 58\n"
		"shop;GET /report: x;main.main;main.(*server).report;do_syscall_64 20\n"
		"shop;not sampled;main.main;main.countPrimes[go.shape.int];main.isPrime 3\n"
		"cart;GET /cart;main.main;main.countPrimes[go.shape.int];main.isPrime 4\n");
	buffer_close(&out);
	sample_free(at);
	profile_close(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(types_and_times),	   cmocka_unit_test(samples_and_labels),
		cmocka_unit_test(locations_are_resolved),  cmocka_unit_test(too_small_a_buffer),
		cmocka_unit_test(the_program_comes_first), cmocka_unit_test(folded_lines),
		cmocka_unit_test(nothing_known),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
