/* SPDX-License-Identifier: Apache-2.0 */
/* Spans that only a deferred call has. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "span_candidates.h"

/* The third word of the variable that main.lends had its object in. */
static uint64_t third_word(const struct fixture *f)
{
	for (size_t i = 2; i < f->stack.count; i++) {
		uint64_t address = f->stack.g->sp + 8 * i;
		struct live_words words;

		live_words_begin(&words, f->program->binary, 0, &f->stack.unwound);
		(void)live_words_has(&words, address);
		if (f->stack.words[i] == f->stack.line->inner &&
		    live_words_has_object(&words, address - 16))
			return address;
	}
	fail();
	return 0;
}

/* What a deferred call keeps: in a variable of its own, a function's first instruction before it.
 */
static void test_deferred(void **state)
{
	struct fixture *f = *state;
	struct pclntab *table = gobinary_get_pclntab(f->program->binary);
	struct go_function function;
	struct span_candidate *c;

	assert_int_equal(pclntab_find_name(table, "main.drops", &function), 0);
	sample(f, "lends");
	c = add(f, third_word(f), 1, SECOND_NS);
	add(f, f->outer, 2, 9 * SECOND_NS);
	assert_is(f, 2);
	c->code = function.entry;
	assert_is(f, 1);
	c->slot += 8;
	assert_is(f, 2);
	c->slot -= 16;
	assert_is(f, 2);
	c->slot += 8;
	c->code = function.entry + 8;
	assert_is(f, 2);
	c->code = UINT64_MAX;
	assert_is(f, 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_deferred)};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
