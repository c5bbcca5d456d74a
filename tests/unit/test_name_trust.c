/* SPDX-License-Identifier: Apache-2.0 */
/* Which names of ended spans are believed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "agent/name_trust.h"

static void test_names(void **state)
{
	struct name_trust *t;

	assert_int_equal(name_trust_open(&t), 0);
	assert_false(name_trust_has(t, 1, "GET /", 5));
	name_trust_add(t, 1, "GET /", 5);
	assert_true(name_trust_has(t, 1, "GET /", 5));
	assert_false(name_trust_has(t, 1, "GET /a", 6));
	assert_false(name_trust_has(t, 1, "GET ", 4));
	assert_false(name_trust_has(t, 2, "GET /", 5)); /* another process image */
	name_trust_add(t, 1, "", 0);
	assert_false(name_trust_has(t, 1, "", 0));
	name_trust_close(t);
	name_trust_close(NULL);
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
	for (int i = 100000; i < 110000; i++)
		assert_false(name_trust_has(t, 1, name,
					    (size_t)snprintf(name, sizeof(name), "name %d", i)));
	for (int i = 99000; i < 100000; i++)
		kept += name_trust_has(t, 1, name,
				       (size_t)snprintf(name, sizeof(name), "name %d", i));
	assert_true(kept > 900);
	name_trust_close(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_many),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
