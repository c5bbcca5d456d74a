/* SPDX-License-Identifier: Apache-2.0 */
/* Samples that wait for their executable: order, cap, and that nothing is lost or kept. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <errno.h>

#include <spanprof/record.h>

#include "agent/held_samples.h"

#define WORDS_MAX 64

struct record {
	struct sample_record sample;
	uint64_t words[WORDS_MAX];
};

static const struct sample_record *make(struct record *r, uint32_t pid, uint64_t time_ns,
					size_t words)
{
	memset(r, 0, sizeof(*r));
	r->sample.header.type = RECORD_SAMPLE;
	r->sample.header.size_bytes = (uint32_t)(sizeof(r->sample) + words * 8);
	r->sample.pid = pid;
	r->sample.time_ns = time_ns;
	r->sample.stack_count = (uint16_t)words;
	for (size_t i = 0; i < words; i++)
		r->words[i] = time_ns * 1000 + i;
	return &r->sample;
}

struct seen {
	size_t count;
	uint64_t times[128];
	uint32_t pid;
};

static void see(void *context, const struct sample_record *sample)
{
	struct seen *seen = context;

	assert_int_equal(sample->pid, seen->pid);
	for (size_t i = 0; i < sample->stack_count; i++)
		assert_int_equal(sample->words[i], sample->time_ns * 1000 + i);
	seen->times[seen->count++] = sample->time_ns;
}

static void assert_taken(struct held_samples *h, uint32_t pid, const uint64_t *times, size_t count)
{
	struct seen seen = {.pid = pid};

	assert_int_equal(held_samples_take(h, pid, see, &seen), count);
	assert_int_equal(seen.count, count);
	for (size_t i = 0; i < count; i++)
		assert_int_equal(seen.times[i], times[i]);
}

/* Each process's own, in order; the others keep theirs. */
static void test_order(void **state)
{
	struct held_samples *h;
	struct record r;

	assert_int_equal(held_samples_open(1 << 20, &h), 0);
	for (uint64_t time = 1; time <= 9; time++)
		assert_int_equal(
			held_samples_add(h, make(&r, (uint32_t)(time % 3), time, time % 5)), 0);
	memset(&r, 0xa5, sizeof(r)); /* they are copies */
	assert_taken(h, 7, NULL, 0);
	assert_taken(h, 1, (uint64_t[]){1, 4, 7}, 3);
	assert_taken(h, 1, NULL, 0);
	/* The last one of the list was of process 0: adding goes on behind what is left. */
	assert_taken(h, 0, (uint64_t[]){3, 6, 9}, 3);
	assert_int_equal(held_samples_add(h, make(&r, 2, 10, 3)), 0);
	assert_int_equal(held_samples_add(h, make(&r, 0, 11, 3)), 0);
	assert_taken(h, 2, (uint64_t[]){2, 5, 8, 10}, 4);
	assert_taken(h, 0, (uint64_t[]){11}, 1);
	assert_int_equal(held_samples_add(h, make(&r, 0, 12, 0)), 0);
	assert_taken(h, 0, (uint64_t[]){12}, 1);
	held_samples_close(h);
}

static void test_cap(void **state)
{
	const size_t size = sizeof(struct sample_record) + 8 * 8;
	struct held_samples *h;
	struct record r;

	assert_int_equal(held_samples_open(3 * size, &h), 0);
	for (uint64_t time = 1; time <= 3; time++)
		assert_int_equal(held_samples_add(h, make(&r, 5, time, 8)), 0);
	assert_int_equal(held_samples_add(h, make(&r, 5, 4, 0)), -ENOSPC);
	assert_int_equal(held_samples_add(h, make(&r, 6, 4, 8)), -ENOSPC);
	/* What is taken makes room, as much as it was. */
	assert_taken(h, 5, (uint64_t[]){1, 2, 3}, 3);
	for (uint64_t time = 1; time <= 3; time++)
		assert_int_equal(held_samples_add(h, make(&r, 6, time, 8)), 0);
	assert_int_equal(held_samples_add(h, make(&r, 6, 4, 8)), -ENOSPC);
	/* So does what is only forgotten. */
	assert_int_equal(held_samples_take(h, 6, NULL, NULL), 3);
	assert_int_equal(held_samples_add(h, make(&r, 6, 5, 16)), 0);
	assert_taken(h, 6, (uint64_t[]){5}, 1);
	held_samples_close(h);

	assert_int_equal(held_samples_open(size - 1, &h), 0);
	assert_int_equal(held_samples_add(h, make(&r, 6, 1, 8)), -ENOSPC);
	held_samples_close(h);
}

/* A record that is shorter than a sample is not one. */
static void test_short_record(void **state)
{
	struct held_samples *h;
	struct record r;

	assert_int_equal(held_samples_open(1 << 20, &h), 0);
	make(&r, 5, 1, 0);
	r.sample.header.size_bytes -= 1;
	assert_int_equal(held_samples_add(h, &r.sample), -EINVAL);
	assert_int_equal(held_samples_take(h, 5, NULL, NULL), 0);
	held_samples_close(h);
}

/* Closing frees what is still held (as the sanitizer sees). */
static void test_close(void **state)
{
	struct held_samples *h;
	struct record r;

	assert_int_equal(held_samples_open(1 << 20, &h), 0);
	for (uint64_t time = 1; time <= 100; time++)
		assert_int_equal(held_samples_add(h, make(&r, 5, time, WORDS_MAX)), 0);
	held_samples_close(h);
	held_samples_close(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_order),
		cmocka_unit_test(test_cap),
		cmocka_unit_test(test_short_record),
		cmocka_unit_test(test_close),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
