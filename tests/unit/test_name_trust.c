/* SPDX-License-Identifier: Apache-2.0 */
/* Which names of ended spans are believed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "agent/name_trust.h"

static bool believes(struct name_trust *t, const char *name, uint64_t address, bool just_ended)
{
	return name_trust_believe(t, 1, name, strlen(name), address, just_ended);
}

static void test_names(void **state)
{
	struct name_trust *t;

	assert_int_equal(name_trust_open(&t), 0);
	assert_false(believes(t, "GET /", 8, false));
	name_trust_add(t, 1, "GET /", 5);
	assert_true(believes(t, "GET /", 8, false));
	assert_false(believes(t, "GET /a", 8, false));
	assert_false(believes(t, "GET ", 8, false));
	assert_false(name_trust_believe(t, 2, "GET /", 5, 8, false)); /* another process image */
	name_trust_add(t, 1, "", 0);
	assert_false(believes(t, "", 8, false));
	assert_true(believes(t, "", 8, true));
	name_trust_close(t);
	name_trust_close(NULL);
}

/* One span that has ended just then vouches for its own name, two for those of others. */
static void test_just_ended(void **state)
{
	struct name_trust *t;

	assert_int_equal(name_trust_open(&t), 0);
	for (int i = 0; i < 3; i++) {
		assert_true(believes(t, "GET /", 8, true));
		assert_false(believes(t, "GET /", 8, false));
		assert_false(believes(t, "GET /", 16, false));
	}
	assert_true(believes(t, "GET /", 16, true));
	assert_true(believes(t, "GET /", 24, false));
	name_trust_close(t);
}

/* Nor does what is no text, however often it is seen; unless a span that is open has that name. */
static void test_garbage(void **state)
{
	const char zeros[8] = {0}, numbers[] = "abc\x01\xff", cut[] = "\xe2\x80";
	struct name_trust *t;
	char name[65];

	assert_int_equal(name_trust_open(&t), 0);
	for (uint64_t i = 1; i < 4; i++) {
		assert_false(name_trust_believe(t, 1, zeros, sizeof(zeros), 8 * i, true));
		assert_false(believes(t, numbers, 8 * i, true));
		assert_false(believes(t, cut, 8 * i, true));
	}
	name_trust_add(t, 1, numbers, strlen(numbers));
	assert_true(believes(t, numbers, 8, false));
	/* A long name that was read in part. */
	memset(name, 'a', sizeof(name));
	memcpy(name + 62, cut, 2);
	assert_true(name_trust_believe(t, 1, name, 64, 8, true));
	assert_false(name_trust_believe(t, 1, name, 65, 8, true));
	name[0] = '\n';
	assert_false(name_trust_believe(t, 1, name, 64, 8, true));
	name_trust_close(t);
}

/* Far more than there is room for: none is taken for another, the last ones are there. */
static void test_many(void **state)
{
	struct name_trust *t;
	unsigned kept = 0;
	char name[32];

	assert_int_equal(name_trust_open(&t), 0);
	for (int i = 0; i < 100000; i++)
		name_trust_add(t, 1, name, (size_t)snprintf(name, sizeof(name), "name %d", i));
	for (int i = 100000; i < 110000; i++) {
		snprintf(name, sizeof(name), "name %d", i);
		assert_false(believes(t, name, 8, false));
	}
	for (int i = 99000; i < 100000; i++) {
		snprintf(name, sizeof(name), "name %d", i);
		kept += believes(t, name, 8, false);
	}
	assert_true(kept > 900);
	name_trust_close(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_just_ended),
		cmocka_unit_test(test_garbage),
		cmocka_unit_test(test_many),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
