/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "base/decimal.h"

static void assert_reads(const char *text, const char *bytes)
{
	uint8_t to[8];

	assert_true(decimal_read(text, strlen(text), to));
	assert_memory_equal(to, bytes, sizeof(to));
}

static void test_numbers(void **state)
{
	uint8_t to[8];

	assert_reads("0", "\0\0\0\0\0\0\0\0");
	assert_reads("258", "\0\0\0\0\0\0\1\2");
	assert_reads("67667974448284343", "\x00\xf0\x67\xaa\x0b\xa9\x02\xb7");
	assert_reads("18446744073709551615", "\xff\xff\xff\xff\xff\xff\xff\xff");
	decimal_put(UINT64_C(0x0102030405060708), to);
	assert_memory_equal(to, "\1\2\3\4\5\6\7\10", sizeof(to));
	/* Only as much as was said is looked at. */
	assert_true(decimal_read("12x", 2, to));
	assert_int_equal(to[7], 12);
}

static void test_refused(void **state)
{
	static const char *const texts[] = {
		"", "-1", "+1", " 1", "1 ", "0x1", "18446744073709551616", "000000000000000000001",
	};
	uint8_t to[8];

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		assert_false(decimal_read(texts[i], strlen(texts[i]), to));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_numbers),
		cmocka_unit_test(test_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
