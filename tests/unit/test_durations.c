/* SPDX-License-Identifier: Apache-2.0 */
/* Percentiles of many durations against the same durations in order. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "spans/durations.h"

#define COUNT		20000
#define LEAST_NS	1024ull		 /* what is promised begins here */
#define OCTAVES		33		 /* and ends at 2.4 hours */
#define MOST_NS		(LEAST_NS << 33) /* not part of it */
#define COUNT_OF(array) (sizeof(array) / sizeof(*(array)))

static const double shares[] = {0, 0.001, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 0.999, 1};

/* A fixed sequence of numbers without pattern (Knuth, MMIX), its upper bits. */
static uint64_t next_number(uint64_t *state)
{
	*state = *state * 6364136223846793005ull + 1442695040888963407ull;
	return *state >> 24;
}

static int by_size(const void *left, const void *right)
{
	const uint64_t *a = left, *b = right;

	return *a < *b ? -1 : *a > *b;
}

static void assert_within_a_sixteenth(uint64_t ns, uint64_t exact)
{
	uint64_t apart = ns > exact ? ns - exact : exact - ns;

	if (apart > exact / 16)
		fail_msg("%lu instead of %lu ns", ns, exact);
}

static void check_quantiles(uint64_t *all, size_t count)
{
	struct durations d = {0};
	uint64_t sum_ns = 0;

	for (size_t i = 0; i < count; i++) {
		durations_add(&d, all[i]);
		sum_ns += all[i];
	}
	qsort(all, count, sizeof(*all), by_size);
	assert_int_equal(d.count, count);
	assert_int_equal(d.sum_ns, sum_ns);
	assert_int_equal(d.max_ns, all[count - 1]);
	for (size_t i = 0; i < COUNT_OF(shares); i++) {
		size_t rank = (size_t)ceil(shares[i] * (double)count);

		assert_within_a_sixteenth(durations_quantile(&d, shares[i]),
					  all[rank ? rank - 1 : 0]);
	}
}

/* From the shortest to the longest, each octave alike; then as spans are: most of them alike. */
static void test_quantiles(void **state)
{
	static uint64_t all[COUNT];
	uint64_t seed = 1;

	for (size_t i = 0; i < COUNT; i++) {
		unsigned octave = (unsigned)(next_number(&seed) % OCTAVES);

		all[i] = (LEAST_NS << octave) + next_number(&seed) % (LEAST_NS << octave);
	}
	check_quantiles(all, COUNT);
	for (size_t i = 0; i < COUNT; i++) {
		uint64_t rare = next_number(&seed) % 100;

		all[i] = 1200000 + next_number(&seed) % 300000;
		if (rare < 3)
			all[i] *= 40 + 1000 * (rare == 0);
	}
	check_quantiles(all, COUNT);
}

/* Every single one, also right before, at and behind the ends of buckets. */
static void test_each_bucket(void **state)
{
	for (unsigned octave = 0; octave < OCTAVES; octave++)
		for (unsigned eighth = 8; eighth < 16; eighth++)
			for (int beside = -1; beside <= 1; beside++) {
				uint64_t ns = ((uint64_t)eighth << octave << 7) + (uint64_t)beside;
				struct durations d = {0};

				if (ns < LEAST_NS)
					continue;
				durations_add(&d, ns);
				assert_within_a_sixteenth(durations_quantile(&d, 0.5), ns);
				assert_true(durations_quantile(&d, 1) <= ns);
			}
}

static void test_ends(void **state)
{
	struct durations d = {0};

	assert_int_equal(durations_quantile(&d, 0.5), 0);
	durations_add(&d, 0);
	assert_int_equal(durations_quantile(&d, 0.5), 0);
	assert_int_equal(d.count, 1);
	/* Whatever a clock that was set tells: counted, and nothing else is touched. */
	durations_add(&d, UINT64_MAX);
	assert_int_equal(d.count, 2);
	assert_int_equal(d.max_ns, UINT64_MAX);
	assert_int_equal(d.buckets[DURATIONS_BUCKETS - 1], 1);
	durations_add(&d, MOST_NS - 1);
	assert_int_equal(d.buckets[DURATIONS_BUCKETS - 1], 2);
	/* A half of two is the lower one, and so is less. */
	memset(&d, 0, sizeof(d));
	durations_add(&d, 2000000);
	durations_add(&d, 1000000000);
	assert_within_a_sixteenth(durations_quantile(&d, 0.01), 2000000);
	assert_within_a_sixteenth(durations_quantile(&d, 0.5), 2000000);
	assert_within_a_sixteenth(durations_quantile(&d, 0.51), 1000000000);
}

/* As if all had been added to one. */
/* The longest is known exactly: of one, and of what is the last of several. */
static void test_longest(void **state)
{
	struct durations d = {0};

	durations_add(&d, 17168600000);
	assert_int_equal(durations_quantile(&d, 0.5), 17168600000);
	durations_add(&d, 1000);
	assert_true(durations_quantile(&d, 0.5) < 1100);
	assert_int_equal(durations_quantile(&d, 0.95), 17168600000);
}

static void test_merge(void **state)
{
	struct durations all = {0}, parts[2] = {{0}};
	uint64_t seed = 7;

	for (size_t i = 0; i < 1000; i++) {
		uint64_t ns = next_number(&seed) >> (i % 30);

		durations_add(&all, ns);
		durations_add(&parts[i % 3 == 0], ns);
	}
	durations_merge(&parts[0], &parts[1]);
	assert_memory_equal(&parts[0], &all, sizeof(all));
	memset(&parts[1], 0, sizeof(parts[1]));
	durations_merge(&parts[0], &parts[1]);
	assert_memory_equal(&parts[0], &all, sizeof(all));
	durations_merge(&parts[1], &all);
	assert_memory_equal(&parts[1], &all, sizeof(all));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_quantiles), cmocka_unit_test(test_each_bucket),
		cmocka_unit_test(test_ends),	  cmocka_unit_test(test_longest),
		cmocka_unit_test(test_merge),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
