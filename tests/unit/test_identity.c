/* SPDX-License-Identifier: Apache-2.0 */
/* Who a process is: its environment as text and as a child's, its executable, its build info. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <errno.h>
#include <unistd.h>

#include "child.h"
#include "gobinary/gobinary.h"
#include "process/environ.h"
#include "process/identity.h"
#include "process/identity_private.h"
#include "process/process.h"

#define PARSE(text, id) environ_parse(text, sizeof(text), id)

static void test_environment(void **state)
{
	struct identity id = {0};

	assert_int_equal(PARSE("PATH=/bin\0"
			       "OTEL_RESOURCE_ATTRIBUTES=service.name=lost, service.version = 1.2 ,"
			       "service.namespace=a%20b%2Cc,secret.key=hidden,"
			       "service.instance.id=x=y,deployment.environment.name=prod%2,"
			       "deployment.environment=prod\0"
			       "OTEL_SERVICE_NAME= shop ",
			       &id),
			 0);
	assert_string_equal(identity_get(&id, "service.name"), "shop");
	assert_string_equal(identity_get(&id, "service.version"), "1.2");
	assert_string_equal(identity_get(&id, "service.namespace"), "a b,c");
	assert_string_equal(identity_get(&id, "service.instance.id"), "x=y");
	/* A malformed escape leaves the value as it is. */
	assert_string_equal(identity_get(&id, "deployment.environment.name"), "prod%2");
	assert_string_equal(identity_get(&id, "deployment.environment"), "prod");
	assert_string_equal(identity_get(&id, "secret.key"), "");
	assert_int_equal(id.count, 6);
}

static void test_which_of_two_counts(void **state)
{
	struct identity id = {0};

	assert_int_equal(PARSE("OTEL_SERVICE_NAME=first\0"
			       "OTEL_SERVICE_NAME=second\0"
			       "OTEL_RESOURCE_ATTRIBUTES=service.version=1,service.version=2\0"
			       "SPANPROF=on\0"
			       "SPANPROF=off",
			       &id),
			 0);
	assert_string_equal(identity_get(&id, "service.name"), "first");
	assert_string_equal(identity_get(&id, "service.version"), "2");
}

static void test_values_are_cleaned_and_bounded(void **state)
{
	char text[2048] = "OTEL_SERVICE_NAME=";
	struct identity id = {0};

	memset(text + strlen(text), 'n', 1000);
	assert_int_equal(environ_parse(text, strlen(text), &id), 0);
	assert_int_equal(strlen(identity_get(&id, "service.name")), 256);
	id = (struct identity){0};
	assert_int_equal(PARSE("OTEL_RESOURCE_ATTRIBUTES=service.name=a%1B[2J%FFb", &id), 0);
	assert_string_equal(identity_get(&id, "service.name"), "a\xef\xbf\xbd[2J\xef\xbf\xbd"
							       "b");
}

static void test_odd_environments(void **state)
{
	struct identity id = {0};

	assert_int_equal(environ_parse(NULL, 0, &id), 0);
	assert_int_equal(environ_parse("\0\0=\0==", 6, &id), 0);
	assert_int_equal(environ_parse("OTEL_SERVICE_NAME", 17, &id), 0);
	assert_int_equal(environ_parse("OTEL_SERVICE_NAME=   ", 21, &id), 0);
	assert_int_equal(environ_parse("OTEL_RESOURCE_ATTRIBUTES=,,=,service.name", 41, &id), 0);
	assert_int_equal(id.count, 0);
	assert_int_equal(environ_parse("SPANPROF=of", 11, &id), 0);
	assert_int_equal(environ_parse("XSPANPROF=off", 13, &id), 0);
	assert_int_equal(environ_parse("SPANPROF=off", 12, &id), -ECANCELED);
}

/* What the traces carry takes the place of all that was said elsewhere, but of a name. */
static void test_service_of_resource(void **state)
{
	struct identity id = {0}, resource = {0}, other = {0};

	PARSE("OTEL_SERVICE_NAME=shop\0"
	      "OTEL_RESOURCE_ATTRIBUTES=service.version=1,service.namespace=retail",
	      &id);
	identity_set(&id, "process.pid", "7", 1);
	id.attributes[id.count - 1].is_integer = 1;
	PARSE("OTEL_SERVICE_NAME=cart\0"
	      "OTEL_RESOURCE_ATTRIBUTES=service.version=1,deployment.environment=prod",
	      &resource);
	assert_true(identity_set_service(&id, &resource));
	assert_int_equal(id.count, 4);
	assert_string_equal(identity_get(&id, "service.name"), "cart");
	assert_string_equal(identity_get(&id, "service.version"), "1");
	assert_string_equal(identity_get(&id, "service.namespace"), "");
	assert_string_equal(identity_get(&id, "deployment.environment"), "prod");
	assert_string_equal(identity_get(&id, "process.pid"), "7");
	for (size_t i = 0; i < id.count; i++)
		assert_int_equal(id.attributes[i].is_integer,
				 !strcmp(id.attributes[i].key, "process.pid"));
	assert_false(identity_set_service(&id, &resource));
	assert_true(identity_set_service(&id, &other));
	assert_int_equal(id.count, 2);
	assert_string_equal(identity_get(&id, "service.name"), "cart");
	assert_string_equal(identity_get(&id, "process.pid"), "7");
	assert_false(identity_set_service(&id, &other));
}

static int read_child(char *const environment[], const struct gobinary_info *info,
		      struct identity *id)
{
	pid_t pid = child_start(environment);
	struct process *p;
	int err;

	err = process_open(pid, &p);
	if (!err)
		err = identity_read(p, info, id);
	if (!err) {
		char text[32];

		snprintf(text, sizeof(text), "%d", pid);
		assert_string_equal(identity_get(id, "process.pid"), text);
	}
	process_close(p);
	child_end(pid);
	return err;
}

static void test_child_with_a_name(void **state)
{
	char *const environment[] = {"OTEL_SERVICE_NAME=shop",
				     "OTEL_RESOURCE_ATTRIBUTES=service.version=7", NULL};
	struct gobinary_info info = {.module_version = "v1.0.0"};
	char host[256] = "";
	struct identity id;

	assert_int_equal(read_child(environment, &info, &id), 0);
	gethostname(host, sizeof(host) - 1);
	assert_string_equal(identity_get(&id, "service.name"), "shop");
	assert_string_equal(identity_get(&id, "service.version"), "7");
	assert_string_equal(identity_get(&id, "host.name"), host);
	assert_int_equal(id.count, host[0] ? 5 : 4);
	for (size_t i = 0; i < id.count; i++)
		assert_int_equal(id.attributes[i].is_integer,
				 !strcmp(id.attributes[i].key, "process.pid"));
}

static void test_child_without_a_name(void **state)
{
	char *const environment[] = {NULL};
	struct gobinary_info info = {.module_version = "v1.0.0"};
	struct identity id;

	assert_int_equal(read_child(environment, &info, &id), 0);
	/* Whatever file /bin/sleep is, its name is the one of the executable. */
	assert_string_equal(identity_get(&id, "service.name"),
			    identity_get(&id, "process.executable.name"));
	assert_true(identity_get(&id, "service.name")[0]);
	assert_string_equal(identity_get(&id, "service.version"), "v1.0.0");
	info = (struct gobinary_info){.module_version = "(devel)", .vcs_revision = "abc"};
	assert_int_equal(read_child(environment, &info, &id), 0);
	assert_string_equal(identity_get(&id, "service.version"), "abc");
	assert_int_equal(read_child(environment, NULL, &id), 0);
	assert_string_equal(identity_get(&id, "service.version"), "");
}

static void test_child_that_opted_out(void **state)
{
	char *const environment[] = {"OTEL_SERVICE_NAME=shop", "SPANPROF=off", NULL};
	struct identity id;

	assert_int_equal(read_child(environment, NULL, &id), -ECANCELED);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_environment),
		cmocka_unit_test(test_which_of_two_counts),
		cmocka_unit_test(test_values_are_cleaned_and_bounded),
		cmocka_unit_test(test_odd_environments),
		cmocka_unit_test(test_service_of_resource),
		cmocka_unit_test(test_child_with_a_name),
		cmocka_unit_test(test_child_without_a_name),
		cmocka_unit_test(test_child_that_opted_out),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
