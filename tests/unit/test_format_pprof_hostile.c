/* SPDX-License-Identifier: Apache-2.0 */
/* pprof files that are damaged, of another kind or made to hurt: one sentence each, soon. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/bytes.h"
#include "base/gzip.h"
#include "base/string_table.h"
#include "format/format.h"
#include "pprof_file.h"
#include "profile/profile.h"

#define MIB ((size_t)1 << 20)

static void assert_bytes_refused(const void *data, size_t size, int error, const char *wanted)
{
	struct format_pprof_notes notes;
	struct profile *p = NULL;
	char why[256] = "";

	assert_int_equal(format_pprof_read(data, size, &p, &notes, why, sizeof(why)), error);
	assert_string_equal(why, wanted);
	assert_null(p);
}

/* The file is freed. */
static void assert_refused(struct pprof_file *f, const char *wanted)
{
	struct buffer b = pack_pprof(f);

	assert_true(format_is_pprof(b.data, b.size));
	assert_bytes_refused(b.data, b.size, -EBADMSG, wanted);
	buffer_close(&b);
}

/* Changes one thing of a good file. */
#define REFUSED(change, wanted)                                                                    \
	do {                                                                                       \
		struct pprof_file *f = new_pprof();                                                \
		change;                                                                            \
		assert_refused(f, wanted);                                                         \
	} while (0)

static void references_into_nothing(void **state)
{
	REFUSED(f->location_ids[1] = 3, "there is no location with the ID 3");
	REFUSED(f->location_ids[0] = 0, "there is no location with the ID 0");
	REFUSED(f->locations[1].mapping_id = 7, "there is no mapping with the ID 7");
	REFUSED(f->lines[0].function_id = 4, "there is no function with the ID 4");
	REFUSED(f->functions[1].name = 99, "the string table has no entry 99 (it has 12)");
	REFUSED(f->functions[1].system_name = -1, "the string table has no entry -1 (it has 12)");
	REFUSED(f->functions[1].filename = INT64_MIN,
		"the string table has no entry -9223372036854775808 (it has 12)");
	REFUSED(f->mappings[0].filename = 12, "the string table has no entry 12 (it has 12)");
	REFUSED(f->mappings[0].build_id = 12, "the string table has no entry 12 (it has 12)");
	REFUSED(f->types[0].unit = 12, "the string table has no entry 12 (it has 12)");
	REFUSED(f->period_type.type = 12, "the string table has no entry 12 (it has 12)");
	REFUSED(pprof_add_label(f, "k", "v")->key = 14,
		"the string table has no entry 14 (it has 14)");
	REFUSED(pprof_add_label(f, "k", "v")->str = 14,
		"the string table has no entry 14 (it has 14)");
	REFUSED(f->strings[0] = "x", "not a pprof profile: its first string is not \"\"");
}

static void ids_that_tell_nothing_apart(void **state)
{
	REFUSED(f->locations[1].id = 1, "two locations have the ID 1");
	REFUSED(f->functions[2].id = 2, "two functions have the ID 2");
	REFUSED(f->mappings[1].id = 1, "two mappings have the ID 1");
	REFUSED(f->locations[0].id = 0, "a location has the ID 0");
	REFUSED(f->functions[0].id = 0, "a function has the ID 0");
	REFUSED(f->mappings[0].id = 0, "a mapping has the ID 0");
}

static void values_that_are_none(void **state)
{
	REFUSED(f->values[1] = -1, "a sample has the value -1");
	REFUSED(f->sample.n_value = 1, "a sample has 1 values for 2 sample types");
	REFUSED(f->sample.n_value = 0, "a sample has 0 values for 2 sample types");
	REFUSED(f->types[1].unit = pprof_text(f, "seconds");
		f->values[1] = INT64_MAX, "a sample has the value 9223372036854775807");
	REFUSED(pprof_add_type(f, "off_cpu", "microseconds", INT64_MAX / 1000 + 1),
		"its values add up to more than a profile holds");
}

/* Each value fits, but not all of them. */
static void sums_that_overflow(void **state)
{
	struct pprof_file *f = new_pprof();
	Pprof__Sample *twice[] = {&f->sample, &f->sample};

	f->profile.sample = twice;
	f->profile.n_sample = 2;
	f->profile.period = 1;
	f->values[1] = INT64_MAX;
	assert_refused(f, "its values add up to more than a profile holds");
}

/* Bytes that are no UTF-8 and control characters are cleaned like any other names. */
static void names_from_strangers(void **state)
{
	struct pprof_file *f = new_pprof();
	const struct string_table *texts;
	struct format_pprof_notes notes;
	struct profile *p = NULL;
	struct profile_view v;
	char why[256];

	f->functions[0].name = pprof_text(f, "a\xff\x1b[31m");
	assert_int_equal(read_pprof(f, &p, &notes, why, sizeof(why)), 0);
	profile_get_view(p, &v);
	texts = profile_get_strings(p);
	assert_string_equal(string_table_get(texts, v.functions[1].name),
			    "a\xef\xbf\xbd\xef\xbf\xbd[31m");
	profile_close(p);
}

static void stacks_deeper_than_are_kept(void **state)
{
	enum { DEPTH = 100000 };
	struct pprof_file *f = new_pprof();
	uint64_t *ids = malloc(DEPTH * sizeof(*ids));
	struct format_pprof_notes notes;
	struct profile *p = NULL;
	struct profile_view v;
	char why[256];

	for (size_t i = 0; i < DEPTH; i++)
		ids[i] = 1 + i % 2;
	f->sample.location_id = ids;
	f->sample.n_location_id = DEPTH;
	assert_int_equal(read_pprof(f, &p, &notes, why, sizeof(why)), 0);
	profile_get_view(p, &v);
	assert_int_equal(v.stacks[1].location_count, 1024);
	assert_true(v.stacks[1].truncated);
	profile_close(p);
	/* What is cut off is checked all the same. */
	f = new_pprof();
	ids[DEPTH - 1] = 3;
	f->sample.location_id = ids;
	f->sample.n_location_id = DEPTH;
	assert_refused(f, "there is no location with the ID 3");
	free(ids);
}

static void profiles_of_other_things(void **state)
{
	struct pprof_file *f = new_untyped_pprof();

	assert_refused(f, "no profile of CPU time or off_cpu time, but of nothing");
	f = new_untyped_pprof();
	pprof_add_type(f, "alloc_objects", "count", 1);
	pprof_add_type(f, "alloc_space", "bytes", 1);
	assert_refused(f, "no profile of CPU time or off_cpu time, but of alloc_objects/count, "
			  "alloc_space/bytes");
	f = new_untyped_pprof();
	pprof_add_type(f, "contentions", "count", 1);
	pprof_add_type(f, "delay", "nanoseconds", 1);
	pprof_set_period(f, "contentions", "count", 1);
	assert_refused(f, "no profile of CPU time or off_cpu time, but of contentions/count, "
			  "delay/nanoseconds");
	/* Of wall-clock time: its samples are counts, too. */
	f = new_untyped_pprof();
	pprof_add_type(f, "samples", "count", 1);
	pprof_add_type(f, "time", "nanoseconds", 1);
	pprof_set_period(f, "wallclock", "nanoseconds", 10000000);
	assert_refused(f, "no profile of CPU time or off_cpu time, but of samples/count, "
			  "time/nanoseconds");
	/* Samples of which nobody knows what they stand for. */
	f = new_untyped_pprof();
	pprof_add_type(f, "samples", "count", 1);
	assert_refused(f, "no profile of CPU time or off_cpu time, but of samples/count");
	f = new_untyped_pprof();
	pprof_add_type(f, "cpu", "cycles", 1);
	assert_refused(f, "no profile of CPU time or off_cpu time, but of cpu/cycles");
}

static void cut_at_every_byte(void **state)
{
	struct buffer b = pack_pprof(new_pprof()), packed;
	struct format_pprof_notes notes;
	unsigned whole = 0;
	char why[256];

	buffer_open(&packed, MIB);
	assert_int_equal(gzip_pack(b.data, b.size, &packed), 0);
	for (size_t size = 0; size < b.size; size++) {
		struct profile *p = NULL;
		int err = format_pprof_read(b.data, size, &p, &notes, why, sizeof(why));

		assert_true(err == 0 || err == -EBADMSG);
		whole += !err; /* without the times at its end */
		profile_close(p);
	}
	assert_true(whole < 20);
	for (size_t size = 2; size < packed.size; size++)
		assert_bytes_refused(packed.data, size, -EBADMSG,
				     "its gzip data are damaged or cut off");
	packed.data[packed.size / 2] ^= 0x55;
	assert_bytes_refused(packed.data, packed.size, -EBADMSG,
			     "its gzip data are damaged or cut off");
	buffer_close(&packed);
	buffer_close(&b);
}

static void what_is_behind_it(void **state)
{
	struct buffer b = pack_pprof(new_pprof()), packed;

	buffer_open(&packed, MIB);
	assert_int_equal(gzip_pack(b.data, b.size, &packed), 0);
	buffer_add(&packed, "rest", 4);
	assert_bytes_refused(packed.data, packed.size, -EBADMSG,
			     "its gzip data are damaged or cut off");
	packed.size = 0;
	assert_int_equal(gzip_pack("hello", 5, &packed), 0);
	assert_bytes_refused(packed.data, packed.size, -EBADMSG,
			     "not a pprof profile, or one that is cut off");
	packed.size = 0;
	assert_int_equal(gzip_pack("", 0, &packed), 0);
	assert_bytes_refused(packed.data, packed.size, -EBADMSG,
			     "not a pprof profile: its first string is not \"\"");
	buffer_close(&packed);
	buffer_close(&b);
}

/* 200 MiB of zeros in 200 KiB. */
static void a_bomb(void **state)
{
	const size_t size = 200 * MIB;
	uint8_t *zeros = calloc(1, size);
	struct buffer packed;

	buffer_open(&packed, MIB);
	assert_int_equal(gzip_pack(zeros, size, &packed), 0);
	assert_bytes_refused(packed.data, packed.size, -EBADMSG,
			     "larger than 128 MiB when it is unpacked");
	assert_bytes_refused(zeros, size, -EBADMSG, "larger than 128 MiB");
	buffer_close(&packed);
	free(zeros);
}

/* Messages of two bytes, which take much more room than that. */
static void empty_messages(void **state)
{
	const size_t size = 4 * MIB;
	uint8_t *data = calloc(1, size);

	for (size_t i = 0; i < size; i += 2)
		data[i] = 0x22; /* Profile.location */
	assert_true(format_is_pprof(data, size));
	assert_bytes_refused(data, size, -ENOMEM, "too large once unpacked, or out of memory");
	free(data);
}

/* One long name that every sample says again. */
static void a_name_said_too_often(void **state)
{
	enum { SAMPLES = 20000, NAME = 16000 };
	struct pprof_file *f = new_pprof();
	Pprof__Sample **samples = malloc(SAMPLES * sizeof(*samples));
	char *name = malloc(NAME + 1);

	memset(name, 'x', NAME);
	name[NAME] = '\0';
	for (size_t i = 0; i < SAMPLES; i++)
		samples[i] = &f->sample;
	f->profile.sample = samples;
	f->profile.n_sample = SAMPLES;
	pprof_add_label(f, "service", name);
	assert_refused(f, "it repeats its names more often than a profile does");
	free(name);
	free(samples);
}

static void what_looks_like_one(void **state)
{
	assert_false(format_is_pprof("", 0));
	assert_false(format_is_pprof("\0\0\0\5", 4)); /* a Collector's frame */
	assert_false(format_is_pprof("\x0a\x00\x12\x00", 4));
	assert_false(format_is_pprof("hello, world", 12));
	assert_false(format_is_pprof("\x1f", 1));
	assert_true(format_is_pprof("\x1f\x8b", 2));
	assert_true(format_is_pprof("\x0a\x00\x12\x00\x32\x00", 6));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(references_into_nothing),
		cmocka_unit_test(ids_that_tell_nothing_apart),
		cmocka_unit_test(values_that_are_none),
		cmocka_unit_test(sums_that_overflow),
		cmocka_unit_test(names_from_strangers),
		cmocka_unit_test(stacks_deeper_than_are_kept),
		cmocka_unit_test(profiles_of_other_things),
		cmocka_unit_test(cut_at_every_byte),
		cmocka_unit_test(what_is_behind_it),
		cmocka_unit_test(a_bomb),
		cmocka_unit_test(empty_messages),
		cmocka_unit_test(a_name_said_too_often),
		cmocka_unit_test(what_looks_like_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
