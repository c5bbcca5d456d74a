/* SPDX-License-Identifier: Apache-2.0 */
/* Where a frame's variables begin that pointers may lead to. */
#include "frame_table.h"

/* How far below the caller's SP they begin, summed. */
static int64_t sum_of_objects(struct fixture *x, uint64_t offset)
{
	int64_t sum = 0;

	for (int64_t below = -64; below < 128; below++)
		if (pclntab_has_stack_object(x->pclntab, x->text + offset, true, below))
			sum += below;
	return sum;
}

static void finds_stack_objects(void **state)
{
	for (int arm64 = 0; arm64 < 2; arm64++)
		for (int v = GO_TABLE_1_18; v <= GO_TABLE_1_20; v++) {
			struct plan plan = plan_of((enum go_table_version)v, false, arm64);
			int64_t end = arm64 ? 8 : 16;
			struct fixture x;

			open_table(&x, &plan);
			assert_int_equal(sum_of_objects(&x, FIRST_PC), 2 * end + 24 + 48);
			assert_int_equal(sum_of_objects(&x, ENTRY_PC), 2 * end + 24 + 48);
			assert_int_equal(sum_of_objects(&x, 0x120), 0); /* another function */
			assert_int_equal(sum_of_objects(&x, 0x200), 0);
			assert_true(pclntab_begins_at(x.pclntab, x.text));
			assert_false(pclntab_begins_at(x.pclntab, x.text + FIRST_PC));
			close_table(&x);
			plan.objects = 2;
			open_table(&x, &plan);
			assert_int_equal(sum_of_objects(&x, FIRST_PC), end + 48);
			close_table(&x);
			plan.objects = UINT64_MAX; /* as far as there is anything to read */
			open_table(&x, &plan);
			assert_true(pclntab_has_stack_object(x.pclntab, x.text + FIRST_PC, true,
							     end + 24));
			assert_false(pclntab_has_stack_object(x.pclntab, x.text + FIRST_PC, true,
							      INT64_MIN));
			close_table(&x);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(finds_stack_objects)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
