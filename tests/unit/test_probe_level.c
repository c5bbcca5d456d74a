/* SPDX-License-Identifier: Apache-2.0 */
/* How much is probed in a process, by what it costs and for how long. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "agent/probe_level.h"

#define SECOND 1000000000ull
#define SHARE  0.02

/* 1 % of a CPU: 10,000 spans, 20,000 sampled out or 5,000 `go` statements in a second. */
static const struct capture_probe_costs costs = {
	.span_ns = 1000, .unsampled_ns = 500, .go_ns = 2000};

struct scene {
	struct probe_guard guard;
	struct capture_process_counts counts;
	uint64_t cpu_ns, now_ns;
};

/* A second in which a process that uses one CPU did so much. */
static enum probe_level pass(struct scene *s, uint64_t spans, uint64_t unsampled, uint64_t goes)
{
	s->counts.spans_started += spans;
	s->counts.spans_unsampled += unsampled;
	s->counts.go_statements += goes;
	s->cpu_ns += SECOND;
	s->now_ns += SECOND;
	return probe_guard_look(&s->guard, &costs, SHARE, &s->counts, s->cpu_ns, s->now_ns);
}

static struct scene begin(void)
{
	struct scene s = {.now_ns = SECOND};

	assert_int_equal(pass(&s, 0, 0, 0), PROBES_ALL);
	return s;
}

static void test_within_the_limit(void **state)
{
	struct scene s = begin();

	for (int i = 0; i < 100; i++)
		assert_int_equal(pass(&s, 10000, 4000, 4000), PROBES_ALL);
	assert_int_equal(s.guard.below_ns, 0);
	assert_int_equal(s.guard.rate, 10000);
	assert_true(s.guard.share > 0.0199 && s.guard.share < 0.0201);
}

/* One look over it is chance; a rate that comes back within it begins anew. */
static void test_two_looks_over(void **state)
{
	struct scene s = begin();

	assert_int_equal(pass(&s, 30000, 0, 0), PROBES_ALL);
	assert_int_equal(pass(&s, 10000, 0, 0), PROBES_ALL);
	assert_int_equal(pass(&s, 30000, 0, 0), PROBES_ALL);
	assert_int_equal(pass(&s, 30000, 0, 0), PROBES_NONE);
	/* Far over it: at once. */
	s = begin();
	assert_int_equal(pass(&s, 110000, 0, 0), PROBES_NONE);
}

/* What is given up is what costs too much, spans that are sampled out first. */
static void test_the_level_that_keeps_it(void **state)
{
	struct scene s = begin();

	assert_int_equal(pass(&s, 10000, 300000, 1000), PROBES_RECORDED);
	s = begin();
	assert_int_equal(pass(&s, 10000, 0, 60000), PROBES_NO_GO);
	s = begin();
	assert_int_equal(pass(&s, 30000, 0, 60000), PROBES_NONE);
	/* From a lower level further down, by what is still counted. */
	s = begin();
	assert_int_equal(pass(&s, 10000, 300000, 1000), PROBES_RECORDED);
	assert_int_equal(pass(&s, 10000, 0, 60000), PROBES_NO_GO);
}

/* Tried again after 30 s; then after 60, 120 … 600; from the start when it held for as long. */
static void test_dwell(void **state)
{
	static const unsigned dwells[] = {30, 60, 120, 240, 480, 600, 600};
	struct scene s = begin();

	for (size_t i = 0; i < sizeof(dwells) / sizeof(*dwells); i++) {
		assert_int_equal(pass(&s, 200000, 0, 0), PROBES_NONE);
		for (unsigned second = 1; second < dwells[i]; second++)
			assert_int_equal(pass(&s, 0, 0, 0), PROBES_NONE);
		assert_int_equal(pass(&s, 0, 0, 0), PROBES_ALL);
	}
	assert_int_equal(s.guard.below_ns, (30 + 60 + 120 + 240 + 480 + 600 + 600) * SECOND);
	for (int i = 0; i < 602; i++)
		assert_int_equal(pass(&s, 10, 0, 0), PROBES_ALL);
	assert_int_equal(pass(&s, 200000, 0, 0), PROBES_NONE);
	for (int i = 1; i < 30; i++)
		assert_int_equal(pass(&s, 0, 0, 0), PROBES_NONE);
	assert_int_equal(pass(&s, 0, 0, 0), PROBES_ALL);
}

/* No limit, a process that hardly ran, looks in quick succession. */
static void test_nothing_to_judge(void **state)
{
	struct scene s = begin();

	s.counts.spans_started += 1000000;
	assert_int_equal(probe_guard_look(&s.guard, &costs, 0, &s.counts, s.cpu_ns + SECOND,
					  s.now_ns + SECOND),
			 PROBES_ALL);
	s = begin();
	s.counts.spans_started += 1000000;
	assert_int_equal(probe_guard_look(&s.guard, &costs, SHARE, &s.counts, s.cpu_ns + 10000000,
					  s.now_ns + SECOND),
			 PROBES_ALL);
	s = begin();
	s.counts.spans_started += 1000000;
	assert_int_equal(probe_guard_look(&s.guard, &costs, SHARE, &s.counts, s.cpu_ns + SECOND,
					  s.now_ns + 100000000),
			 PROBES_ALL);
	assert_int_equal(s.guard.counts.spans_started, 0); /* still to be judged */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_within_the_limit),
		cmocka_unit_test(test_two_looks_over),
		cmocka_unit_test(test_the_level_that_keeps_it),
		cmocka_unit_test(test_dwell),
		cmocka_unit_test(test_nothing_to_judge),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
