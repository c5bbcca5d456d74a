/* SPDX-License-Identifier: Apache-2.0 */
/* The sweep over the kernel's goroutines: which entries go, whatever the order of generations. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <bpf/bpf.h>
#include <cmocka.h>
#include <errno.h>
#include <unistd.h>

#include "capture/capture.h"
#include "capture/goroutine_store.h"

#define GENERATIONS_MAX 4096 /* as many as there are processes */
#define PER_GENERATION	4

struct key {
	uint32_t generation, zero;
	uint64_t g;
};

/* Every number below GENERATIONS_MAX once, in no order. */
static uint32_t generation_at(uint32_t i)
{
	return i * 1237 % GENERATIONS_MAX;
}

static void put(int map, uint32_t generation)
{
	for (uint64_t g = 0; g < PER_GENERATION; g++) {
		struct key key = {.generation = generation, .g = g};
		uint64_t value = generation;

		assert_int_equal(bpf_map_update_elem(map, &key, &value, BPF_ANY), 0);
	}
}

static size_t stored(int map, uint32_t generation)
{
	size_t count = 0;

	for (uint64_t g = 0; g < PER_GENERATION; g++) {
		struct key key = {.generation = generation, .g = g};
		uint64_t value;

		count += !bpf_map_lookup_elem(map, &key, &value);
	}
	return count;
}

static void test_sweep(void **state)
{
	int map = bpf_map_create(BPF_MAP_TYPE_HASH, "test_goroutines", sizeof(struct key),
				 sizeof(uint64_t), 2 * GENERATIONS_MAX * PER_GENERATION, NULL);
	struct goroutine_store *store;

	assert_true(map >= 0);
	assert_int_equal(goroutine_store_open(map, &store), 0);
	for (uint32_t i = 0; i < GENERATIONS_MAX; i++) {
		assert_int_equal(goroutine_store_add(store, generation_at(i)), 0);
		put(map, generation_at(i));
	}
	assert_int_equal(goroutine_store_add(store, GENERATIONS_MAX / 2), 0); /* known already */
	assert_int_equal(goroutine_store_add(store, GENERATIONS_MAX), -ENOSPC);
	put(map, GENERATIONS_MAX + 1); /* of nobody */
	goroutine_store_sweep(store);
	assert_int_equal(stored(map, GENERATIONS_MAX + 1), PER_GENERATION); /* none was forgotten */
	goroutine_store_forget(store, GENERATIONS_MAX + 1);
	for (uint32_t i = 0; i < GENERATIONS_MAX; i++)
		if (generation_at(i) % 3 == 0)
			goroutine_store_forget(store, generation_at(i));
	assert_int_equal(goroutine_store_add(store, GENERATIONS_MAX), 0); /* room again */
	put(map, GENERATIONS_MAX);
	goroutine_store_sweep(store);
	for (uint32_t generation = 0; generation < GENERATIONS_MAX; generation++)
		assert_int_equal(stored(map, generation), generation % 3 ? PER_GENERATION : 0);
	assert_int_equal(stored(map, GENERATIONS_MAX), PER_GENERATION);
	assert_int_equal(stored(map, GENERATIONS_MAX + 1), 0);
	goroutine_store_close(store);
	close(map);
}

/* As in bpf/maps.bpf.h. */
struct value {
	uint64_t goid;
	uint32_t depth, inherited;
	uint64_t kept;
	struct {
		uint64_t address, span_id;
	} spans[16];
};

struct seen {
	size_t count;
	struct capture_stored_goroutine goroutine;
	struct capture_goroutine_span spans[16];
};

static void see(void *context, const struct capture_stored_goroutine *g)
{
	struct seen *s = context;

	s->count++;
	s->goroutine = *g;
	memcpy(s->spans, g->spans, g->span_count * sizeof(*g->spans));
}

/* Goroutines are told with their spans, inherited and hidden ones too. */
static void test_each(void **state)
{
	int map = bpf_map_create(BPF_MAP_TYPE_HASH, "test_goroutines", sizeof(struct key),
				 sizeof(struct value), 16, NULL);
	struct key key = {.generation = 7, .zero = 1, .g = 0xc000100000};
	struct value value = {.goid = 41, .depth = 2, .inherited = 1};
	struct goroutine_store *store;
	struct seen seen = {0};

	assert_true(map >= 0);
	assert_int_equal(goroutine_store_open(map, &store), 0);
	assert_int_equal(goroutine_store_each(store, see, &seen), 0);
	assert_int_equal(seen.count, 0);
	value.spans[0].address = 0xc000200000;
	value.spans[0].span_id = 0x1111;
	value.spans[1].address = 0xc000300000 | 1ull << 63;
	value.spans[1].span_id = 0x2222;
	assert_int_equal(bpf_map_update_elem(map, &key, &value, BPF_ANY), 0);
	assert_int_equal(goroutine_store_each(store, see, &seen), 0);
	assert_int_equal(seen.count, 1);
	assert_int_equal(seen.goroutine.generation, 7);
	assert_int_equal(seen.goroutine.older, 1);
	assert_int_equal(seen.goroutine.g, 0xc000100000);
	assert_int_equal(seen.goroutine.goid, 41);
	assert_true(seen.goroutine.inherited);
	assert_int_equal(seen.goroutine.span_count, 2);
	assert_int_equal(seen.spans[0].address, 0xc000200000);
	assert_int_equal(seen.spans[0].span_id, 0x1111);
	assert_false(seen.spans[0].hides);
	assert_int_equal(seen.spans[1].address, 0xc000300000);
	assert_true(seen.spans[1].hides);
	/* No more than there is room for, whatever the map says. */
	value.depth = UINT32_MAX;
	assert_int_equal(bpf_map_update_elem(map, &key, &value, BPF_ANY), 0);
	assert_int_equal(goroutine_store_each(store, see, &seen), 0);
	assert_int_equal(seen.goroutine.span_count, 16);
	goroutine_store_close(store);
	close(map);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sweep),
		cmocka_unit_test(test_each),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
