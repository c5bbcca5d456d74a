/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "base/hex.h"

static void test_digits(void **state)
{
	const char digits[] = "0123456789abcdefABCDEF";

	for (int c = -128; c < 128; c++) {
		const char *at = c > 0 ? strchr(digits, c) : NULL;
		int place = at ? (int)(at - digits) : -1;

		assert_int_equal(hex_digit((char)c), place > 15 ? place - 6 : place);
	}
}

static void test_there_and_back(void **state)
{
	uint8_t bytes[256], again[256];
	char text[513];

	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (uint8_t)i;
	hex_write(bytes, sizeof(bytes), text);
	assert_memory_equal(text, "000102", 6);
	assert_string_equal(text + 2 * 250, "fafbfcfdfeff");
	assert_true(hex_read(text, 512, again, 256));
	assert_memory_equal(again, bytes, sizeof(bytes));
	assert_true(hex_read("", 0, again, 0));
	hex_write(bytes, 0, text);
	assert_string_equal(text, "");
}

static void test_refused(void **state)
{
	uint8_t to[4];

	assert_false(hex_read("0011", 4, to, 1));
	assert_false(hex_read("001", 3, to, 2));
	assert_false(hex_read("00g0", 4, to, 2));
	assert_false(hex_read("000 ", 4, to, 2));
	assert_true(hex_read("aAFf", 4, to, 2));
	assert_int_equal(to[0] << 8 | to[1], 0xaaff);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_digits),
		cmocka_unit_test(test_there_and_back),
		cmocka_unit_test(test_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
