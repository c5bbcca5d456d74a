/* SPDX-License-Identifier: Apache-2.0 */
/* The bounded cursor and the capped buffer. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/bytes.h"

static void reads_little_endian(void **state)
{
	const uint8_t data[] = {0x01, 0x02, 0x03, 0x04, 0x05, 0x06, 0x07, 0x08,
				0x09, 0x0a, 0x0b, 0x0c, 0x0d, 0x0e, 0x0f};
	struct bytes b = bytes_over(data, sizeof(data));

	assert_int_equal(bytes_u8(&b), 0x01);
	assert_int_equal(bytes_u16(&b), 0x0302);
	assert_int_equal(bytes_u32(&b), 0x07060504);
	assert_int_equal(bytes_u64(&b), 0x0f0e0d0c0b0a0908ull);
	assert_int_equal(bytes_left(&b), 0);
	assert_false(b.failed);
}

static void stays_failed_past_the_end(void **state)
{
	const uint8_t data[] = {1, 2, 3};
	struct bytes b = bytes_over(data, sizeof(data));

	assert_int_equal(bytes_u32(&b), 0);
	assert_true(b.failed);
	/* What would have fitted before is not given either. */
	assert_int_equal(bytes_u8(&b), 0);
	assert_null(bytes_take(&b, 1));
	assert_int_equal(bytes_left(&b), 0);

	b = bytes_over(data, sizeof(data));
	bytes_skip(&b, SIZE_MAX);
	assert_true(b.failed);
}

static void lends_bytes(void **state)
{
	const uint8_t data[] = {1, 2, 3};
	struct bytes b = bytes_over(data, sizeof(data)), none = bytes_over(NULL, 0);

	bytes_skip(&b, 1);
	assert_ptr_equal(bytes_take(&b, 2), data + 1);
	assert_false(b.failed);
	assert_int_equal(bytes_left(&none), 0);
	assert_int_equal(bytes_u8(&none), 0);
	assert_true(none.failed);
}

static uint64_t uvarint(const char *data, size_t size, bool *failed)
{
	struct bytes b = bytes_over(data, size);
	uint64_t value = bytes_uvarint(&b);

	*failed = b.failed;
	return value;
}

static void reads_leb128(void **state)
{
	bool failed;

	assert_int_equal(uvarint("\x00", 1, &failed), 0);
	assert_int_equal(uvarint("\x7f", 1, &failed), 127);
	assert_int_equal(uvarint("\x80\x01", 2, &failed), 128);
	assert_int_equal(uvarint("\xe5\x8e\x26", 3, &failed), 624485);
	assert_int_equal(uvarint("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 10, &failed),
			 UINT64_MAX);
	assert_false(failed);
}

static void refuses_bad_leb128(void **state)
{
	bool failed;

	uvarint("\x80", 1, &failed);
	assert_true(failed);
	/* 2^64 */
	assert_int_equal(uvarint("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02", 10, &failed), 0);
	assert_true(failed);
	uvarint("\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x00", 11, &failed);
	assert_true(failed);
}

static void grows_up_to_its_cap(void **state)
{
	struct buffer b;

	buffer_open(&b, 1000);
	for (int i = 0; i < 100; i++)
		buffer_add(&b, "0123456789", 10);
	assert_int_equal(b.size, 1000);
	assert_false(b.failed);
	assert_memory_equal(b.data + 990, "0123456789", 10);
	buffer_add(&b, NULL, 0);
	assert_false(b.failed);
	buffer_add(&b, "x", 1);
	assert_true(b.failed);
	assert_int_equal(b.size, 1000);
	buffer_close(&b);
	assert_int_equal(b.size, 0);
	assert_null(b.data);
}

static void gives_back_what_it_does_not_use(void **state)
{
	struct buffer b;

	buffer_open(&b, 1000);
	buffer_fit(&b); /* nothing to give */
	assert_null(b.data);
	buffer_add(&b, "0123456789", 10);
	assert_true(b.capacity > 10);
	buffer_fit(&b);
	assert_int_equal(b.capacity, 10);
	buffer_add(&b, "x", 1);
	assert_memory_equal(b.data, "0123456789x", 11);
	buffer_close(&b);
}

static void prints(void **state)
{
	struct buffer b;

	buffer_open(&b, 12);
	buffer_printf(&b, "%s-%d", "ab", 7);
	buffer_printf(&b, "%s", "cdefg");
	assert_int_equal(b.size, 9);
	assert_memory_equal(b.data, "ab-7cdefg", 9);
	buffer_printf(&b, "%s", "too long");
	assert_true(b.failed);
	assert_int_equal(b.size, 9);
	buffer_close(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_little_endian),
		cmocka_unit_test(stays_failed_past_the_end),
		cmocka_unit_test(lends_bytes),
		cmocka_unit_test(reads_leb128),
		cmocka_unit_test(refuses_bad_leb128),
		cmocka_unit_test(grows_up_to_its_cap),
		cmocka_unit_test(gives_back_what_it_does_not_use),
		cmocka_unit_test(prints),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
