/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/reserve.h"

static void test_growth(void **state)
{
	size_t capacity = 0;
	uint64_t *items = NULL;

	for (size_t i = 0; i < 1000; i++) {
		assert_true(reserve((void **)&items, &capacity, i, 1, 1000, sizeof(*items)));
		assert_true(capacity > i);
		items[i] = i;
	}
	for (size_t i = 0; i < 1000; i++)
		assert_int_equal(items[i], i);
	assert_false(reserve((void **)&items, &capacity, 1000, 1, 1000, sizeof(*items)));
	assert_true(reserve((void **)&items, &capacity, 1000, 0, 1000, sizeof(*items)));
	assert_false(reserve((void **)&items, &capacity, 1, SIZE_MAX, 1000, sizeof(*items)));
	free(items);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_growth)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
