/* SPDX-License-Identifier: Apache-2.0 */
/* From spans to what their service says of itself, in the memory of a real Go program. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "gobinary/gobinary.h"
#include "process/identity.h"
#include "process/process.h"
#include "process/span_resource.h"
#include "resource_program.h"

#define REPLACEMENT "\xef\xbf\xbd"

static struct parked *program;

static int find(const char *span, struct span_resource *out)
{
	return span_resource_find(program->process, &program->info->resource, 0,
				  resource_program_span(program, span), out);
}

static void read_of(const char *span, struct identity *out)
{
	struct span_resource r;

	assert_int_equal(find(span, &r), 0);
	assert_int_equal(span_resource_read(program->process, &program->info->resource, &r, out),
			 0);
}

static void assert_is(const struct identity *id, const char *key, const char *value)
{
	assert_string_equal(identity_get(id, key), value);
}

static void test_usual(void **state)
{
	struct identity id;

	read_of("usual", &id);
	assert_int_equal(id.count, 2);
	assert_is(&id, "service.name", "shop");
	assert_is(&id, "service.version", "1.2.3");
}

/* The type of a longer array is made while the program runs. */
static void test_all(void **state)
{
	struct identity id;

	read_of("all", &id);
	assert_int_equal(id.count, 6);
	assert_is(&id, "service.name", "shop");
	assert_is(&id, "service.version", "1.2.3");
	assert_is(&id, "service.namespace", "retail");
	assert_is(&id, "service.instance.id", "pod-7");
	assert_is(&id, "deployment.environment", "prod");
	assert_is(&id, "deployment.environment.name", "production");
}

/* Texts only, clean and bounded; nothing of what is too long to be believed. */
static void test_odd(void **state)
{
	struct identity id;
	char cut[257];

	memset(cut, 'e', 256);
	cut[256] = '\0';
	read_of("odd", &id);
	assert_int_equal(id.count, 2);
	assert_is(&id, "service.name", "a" REPLACEMENT "[2J" REPLACEMENT "b");
	assert_is(&id, "deployment.environment", cut);
}

static void test_many_attributes(void **state)
{
	struct span_resource r;
	struct identity id;

	assert_int_equal(find("crowd", &r), 0);
	assert_int_equal(r.pair_count, 4095);
	read_of("crowd", &id);
	assert_int_equal(id.count, 1);
	assert_is(&id, "service.name", "last");
	assert_int_equal(find("too-many", &r), -EINVAL);
	read_of("empty", &id);
	assert_int_equal(id.count, 0);
}

/* Spans of one provider, of whichever tracer, have one resource; it is told by its place. */
static void test_place(void **state)
{
	struct span_resource usual, again, all;

	assert_int_equal(find("usual", &usual), 0);
	assert_int_equal(find("again", &again), 0);
	assert_int_equal(find("all", &all), 0);
	assert_int_equal(usual.pair_count, 3);
	assert_memory_equal(&usual, &again, sizeof(usual));
	assert_int_not_equal(usual.address, all.address);
	assert_int_not_equal(usual.pairs, all.pairs);
}

/* Without a span: of the provider that the program has set for all, if it has. */
static void test_global(void **state)
{
	struct parked *without = resource_program_run("-");
	struct span_resource usual, global;

	assert_in_range(program->info->resource.global_count, 1, GO_GLOBALS_MAX);
	assert_int_equal(find("usual", &usual), 0);
	assert_int_equal(
		span_resource_find(program->process, &program->info->resource, 0, 0, &global), 0);
	assert_memory_equal(&usual, &global, sizeof(usual));
	assert_int_equal(
		span_resource_find(without->process, &without->info->resource, 0, 0, &global),
		-ENOENT);
	assert_int_equal(global.address, 0);
	parked_end(without);
}

static void test_something_else(void **state)
{
	struct span_resource r;

	assert_int_equal(find("slice", &r), -EINVAL);
	assert_int_equal(find("strings", &r), -EINVAL);
	assert_int_equal(find("no-resource", &r), -EINVAL);
	assert_int_equal(find("no-set", &r), -EFAULT);
	assert_int_equal(r.address, 0);
}

/* The last one of the program: it ends. */
static void test_process_gone(void **state)
{
	struct span_resource r;
	struct identity id;

	assert_int_equal(find("usual", &r), 0);
	assert_int_equal(kill(program->pid, SIGKILL), 0);
	assert_int_equal(waitid(P_PID, (id_t)program->pid, &(siginfo_t){0}, WEXITED | WNOWAIT), 0);
	assert_int_equal(span_resource_read(program->process, &program->info->resource, &r, &id),
			 -ESRCH);
	assert_int_equal(find("usual", &r), -ESRCH);
}

static int set_up(void **state)
{
	program = resource_program_run(NULL);
	return 0;
}

static int tear_down(void **state)
{
	parked_end(program);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_usual),
		cmocka_unit_test(test_all),
		cmocka_unit_test(test_odd),
		cmocka_unit_test(test_many_attributes),
		cmocka_unit_test(test_place),
		cmocka_unit_test(test_global),
		cmocka_unit_test(test_something_else),
		cmocka_unit_test(test_process_gone),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
