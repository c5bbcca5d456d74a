/* SPDX-License-Identifier: Apache-2.0 */
/* The block cache: right bytes, its cap, forgotten and shortened files. */
#include <errno.h>
#include <stdlib.h>

#include "elf_file.h"
#include "gobinary/block_cache.h"

#define BLOCK 8192
#define CAP   (32 * BLOCK)

/* Every byte says where it lies. */
static uint8_t byte_at(uint64_t offset, uint8_t seed)
{
	return (uint8_t)(offset * 31 + offset / BLOCK * 7 + seed);
}

static int patterned_file(size_t size, uint8_t seed)
{
	uint8_t *data = malloc(size);
	int fd;

	assert_non_null(data);
	for (size_t i = 0; i < size; i++)
		data[i] = byte_at(i, seed);
	fd = memory_file(data, size);
	free(data);
	return fd;
}

static void assert_read(struct block_cache *c, int fd, uint64_t id, uint64_t offset, size_t size,
			uint8_t seed)
{
	uint8_t *got = malloc(size);

	assert_non_null(got);
	assert_int_equal(block_cache_read(c, fd, id, offset, got, size), 0);
	for (size_t i = 0; i < size; i++)
		assert_int_equal(got[i], byte_at(offset + i, seed));
	free(got);
}

static void reads_any_range(void **state)
{
	int fd = patterned_file(100 * BLOCK + 123, 1);
	struct block_cache *c;

	assert_int_equal(block_cache_open(CAP, &c), 0);
	assert_read(c, fd, 1, 0, 1, 1);
	assert_read(c, fd, 1, BLOCK - 3, 7, 1);
	assert_read(c, fd, 1, 5 * BLOCK - 1, 3 * BLOCK, 1);
	assert_read(c, fd, 1, 100 * BLOCK + 122, 1, 1);
	assert_read(c, fd, 1, 17, 90 * BLOCK, 1);
	assert_int_equal(block_cache_read(c, fd, 1, 0, NULL, 0), 0);
	block_cache_close(c);
	close(fd);
}

static void refuses_past_the_end(void **state)
{
	int fd = patterned_file(BLOCK + 10, 1);
	struct block_cache *c;
	uint8_t got[16];

	assert_int_equal(block_cache_open(CAP, &c), 0);
	assert_int_equal(block_cache_read(c, fd, 1, BLOCK + 5, got, 6), -ERANGE);
	assert_int_equal(block_cache_read(c, fd, 1, 9 * BLOCK, got, 1), -ERANGE);
	assert_int_equal(block_cache_read(c, fd, 1, UINT64_MAX - 3, got, 8), -ERANGE);
	assert_int_equal(block_cache_read(c, fd, 1, INT64_MAX, got, 8), -ERANGE);
	assert_int_equal(block_cache_read(c, -1, 2, 0, got, 8), -EBADF);
	assert_read(c, fd, 1, BLOCK + 5, 5, 1);
	block_cache_close(c);
	close(fd);
}

static void stays_below_its_cap(void **state)
{
	int a = patterned_file(64 * BLOCK, 1), b = patterned_file(64 * BLOCK, 2);
	struct block_cache *c;

	assert_int_equal(block_cache_open(CAP, &c), 0);
	/* More blocks than slots, from two files, hopping. */
	for (int i = 0; i < 1000; i++) {
		assert_read(c, a, 1, (uint64_t)(i * 37 % 64) * BLOCK + 11, 5, 1);
		assert_read(c, b, 2, (uint64_t)(i * 53 % 64) * BLOCK + 11, 5, 2);
		assert_true(block_cache_bytes(c) <= CAP);
	}
	assert_int_equal(block_cache_bytes(c), CAP);
	block_cache_close(c);
	close(a);
	close(b);
}

static void keeps_what_was_used_last(void **state)
{
	int fd = patterned_file(64 * BLOCK, 1);
	struct block_cache *c;
	uint8_t zero[BLOCK] = {0}, got;

	assert_int_equal(block_cache_open(CAP, &c), 0);
	assert_read(c, fd, 1, 0, 1, 1);
	for (uint64_t i = 1; i < 64; i++) {
		assert_read(c, fd, 1, i * BLOCK, 1, 1);
		assert_read(c, fd, 1, 0, 1, 1);
	}
	/* Overwritten behind the cache's back: block 0 and the newest are still remembered. */
	for (uint64_t i = 0; i < 64; i++)
		assert_int_equal(pwrite(fd, zero, BLOCK, (off_t)(i * BLOCK)), BLOCK);
	assert_read(c, fd, 1, 0, 100, 1);
	assert_read(c, fd, 1, 63 * BLOCK, 100, 1);
	assert_int_equal(block_cache_read(c, fd, 1, BLOCK + 5, &got, 1), 0);
	assert_int_equal(got, 0);
	block_cache_close(c);
	close(fd);
}

static void forgets_one_file(void **state)
{
	int a = patterned_file(4 * BLOCK, 1), b = patterned_file(4 * BLOCK, 2);
	struct block_cache *c;
	uint8_t got;

	assert_int_equal(block_cache_open(CAP, &c), 0);
	for (uint64_t i = 0; i < 4; i++) {
		assert_read(c, a, 1, i * BLOCK, 1, 1);
		assert_read(c, b, 2, i * BLOCK, 1, 2);
	}
	block_cache_forget(c, 1);
	assert_int_equal(block_cache_bytes(c), 4 * BLOCK);
	assert_int_equal(ftruncate(a, 0), 0);
	assert_int_equal(ftruncate(b, 0), 0);
	assert_int_equal(block_cache_read(c, a, 1, 0, &got, 1), -ERANGE);
	assert_read(c, b, 2, 3 * BLOCK, 1, 2);
	block_cache_close(c);
	close(a);
	close(b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_any_range),     cmocka_unit_test(refuses_past_the_end),
		cmocka_unit_test(stays_below_its_cap), cmocka_unit_test(keeps_what_was_used_last),
		cmocka_unit_test(forgets_one_file),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
