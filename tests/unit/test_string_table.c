/* SPDX-License-Identifier: Apache-2.0 */
/* Interned strings: ids, caps, and what cleaning makes of foreign bytes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/string_table.h"

#define FFFD "\xef\xbf\xbd"

static void interns_and_lends(void **state)
{
	struct string_table *t;
	uint32_t a, b;

	assert_int_equal(string_table_open(1 << 20, &t), 0);
	assert_string_equal(string_table_get(t, 0), "");
	assert_int_equal(string_table_add(t, "", 0), 0);
	a = string_table_add(t, "main.countPrimes", 16);
	b = string_table_add(t, "main.countPrimesX", 16);
	assert_int_equal(a, 1);
	assert_int_equal(a, b);
	assert_int_equal(string_table_add(t, "GET /x", 6), 2);
	assert_string_equal(string_table_get(t, a), "main.countPrimes");
	assert_string_equal(string_table_get(t, 77), "");
	assert_int_equal(string_table_count(t), 3);
	assert_int_equal(string_table_dropped(t), 0);
	string_table_close(t);
	string_table_close(NULL);
}

static void keeps_pointers_while_growing(void **state)
{
	struct string_table *t;
	const char *first;
	char text[32];

	assert_int_equal(string_table_open(1 << 24, &t), 0);
	first = string_table_get(t, string_table_add(t, "first", 5));
	for (int i = 0; i < 20000; i++) {
		int size = snprintf(text, sizeof(text), "name %d", i);

		assert_int_equal(string_table_add(t, text, (size_t)size), i + 2);
	}
	assert_int_equal(string_table_add(t, "name 19999", 10), 20001);
	assert_string_equal(first, "first");
	assert_ptr_equal(first, string_table_get(t, 1));
	string_table_close(t);
}

static void drops_at_the_cap(void **state)
{
	struct string_table *t;
	uint32_t id;

	assert_int_equal(string_table_open(100, &t), 0);
	id = string_table_add(t, "0123456789", 10);
	assert_int_equal(id, 1);
	assert_int_equal(string_table_add(t, "abcdefghij", 10), 2);
	assert_int_equal(string_table_add(t, "ABCDEFGHIJ", 10), 0);
	assert_int_equal(string_table_dropped(t), 1);
	assert_int_equal(string_table_add(t, "0123456789", 10), id);
	assert_int_equal(string_table_dropped(t), 1);
	string_table_close(t);
}

static void cuts_very_long_strings(void **state)
{
	static char text[70000];
	struct string_table *t;
	uint32_t id;

	memset(text, 'x', sizeof(text));
	assert_int_equal(string_table_open(1 << 20, &t), 0);
	id = string_table_add(t, text, sizeof(text));
	assert_int_equal(strlen(string_table_get(t, id)), 16384);
	assert_int_equal(string_table_add(t, text, sizeof(text) - 9), id);
	string_table_close(t);
}

static void cleans(void **state)
{
	static const struct {
		const char *in, *out;
	} cases[] = {
		{"plain GET /api/{id}", "plain GET /api/{id}"},
		{"h\xc3\xa9llo \xe4\xb8\x96 \xf0\x9f\x98\x80",
		 "h\xc3\xa9llo \xe4\xb8\x96 \xf0\x9f\x98\x80"},
		{"a\x1b[31mb\x7f\n\t", "a" FFFD "[31mb" FFFD FFFD FFFD},
		{"\xc2\x85\xc2\x9b\xc2\xa0", FFFD FFFD "\xc2\xa0"}, /* NEL, CSI; NBSP stays */
		{"\xe2\x80\xa8\xe2\x80\xa9\xe2\x80\xae\xe2\x81\xa6", FFFD FFFD FFFD FFFD},
		{"\xc0\xaf", FFFD FFFD},		   /* overlong */
		{"\xe0\x80\xaf", FFFD FFFD FFFD},	   /* overlong */
		{"\xed\xa0\x80", FFFD FFFD FFFD},	   /* surrogate */
		{"\xf4\x90\x80\x80", FFFD FFFD FFFD FFFD}, /* over U+10FFFF */
		{"\xf4\x8f\xbf\xbf", "\xf4\x8f\xbf\xbf"},
		{"\xe4\xb8", FFFD}, /* cut: one maximal subpart */
		{"\xf0\x9f\x98x", FFFD "x"},
		{"\xff\xfe", FFFD FFFD},
		{"\x80", FFFD},
	};
	char out[128];

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		size_t size = string_clean(out, sizeof(out), cases[i].in, strlen(cases[i].in));

		assert_string_equal(out, cases[i].out);
		assert_int_equal(size, strlen(cases[i].out));
	}
	assert_int_equal(string_clean(out, sizeof(out), "a\0b", 3), 5);
	assert_string_equal(out, "a" FFFD "b");
}

static void never_cuts_a_character(void **state)
{
	char out[8] = "zzzzzzz";

	assert_int_equal(string_clean(out, 0, "abc", 3), 0);
	assert_int_equal(out[0], 'z');
	assert_int_equal(string_clean(out, 1, "abc", 3), 0);
	assert_string_equal(out, "");
	assert_int_equal(string_clean(out, 3, "abc", 3), 2);
	assert_string_equal(out, "ab");
	assert_int_equal(string_clean(out, 4, "a\xc3\xa9\xc3\xa9", 5), 3);
	assert_string_equal(out, "a\xc3\xa9");
	assert_int_equal(string_clean(out, 5, "a\xc3\xa9\xc3\xa9", 5), 3);
	assert_int_equal(string_clean(out, 4, "ab\n", 3), 2); /* no room for U+FFFD */
	assert_int_equal(string_clean(out, 5, "a\xe4\xb8\x96", 4), 4);
}

static void interns_what_is_clean(void **state)
{
	struct string_table *t;
	uint32_t id;

	assert_int_equal(string_table_open(1 << 16, &t), 0);
	id = string_table_add(t, "a\x1b", 2);
	assert_string_equal(string_table_get(t, id), "a" FFFD);
	assert_int_equal(string_table_add(t, "a" FFFD, 4), id);
	assert_int_equal(string_table_add(t, "a\xff", 2), id);
	string_table_close(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(interns_and_lends),
		cmocka_unit_test(keeps_pointers_while_growing),
		cmocka_unit_test(drops_at_the_cap),
		cmocka_unit_test(cuts_very_long_strings),
		cmocka_unit_test(cleans),
		cmocka_unit_test(never_cuts_a_character),
		cmocka_unit_test(interns_what_is_clean),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
