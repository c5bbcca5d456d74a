/* SPDX-License-Identifier: Apache-2.0 */
/* Each way in which opening a sender fails has its words. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>
#include <pthread.h>

#include "export/sender.h"

static void says_what_is_missing(void **state)
{
	struct sender_config config = {NULL, "http://127.0.0.1:1", 0, 0};
	struct sender *sender;
	char why[256] = "";

	setenv("OTEL_EXPORTER_OTLP_CERTIFICATE", "/nowhere/ca.pem", 1);
	assert_int_equal(sender_open(&config, &sender, why, sizeof(why)), -EINVAL);
	assert_string_equal(why, "OTLP: cannot read /nowhere/ca.pem: No such file or directory");
	unsetenv("OTEL_EXPORTER_OTLP_CERTIFICATE");
	config.endpoint = NULL;
	assert_int_equal(sender_open(&config, &sender, why, sizeof(why)), -ENOENT);
	assert_null(sender);
	assert_string_equal(why, "");
	sender_close(NULL, NULL);
}

/* A thread whose stack is larger than any address space cannot be started. */
static void says_that_no_thread_starts(void **state)
{
	struct sender_config config = {NULL, "http://127.0.0.1:1", 0, 0};
	pthread_attr_t usual, huge;
	struct sender *sender;
	char why[256] = "of before";

	assert_int_equal(pthread_getattr_default_np(&usual), 0);
	assert_int_equal(pthread_attr_init(&huge), 0);
	assert_int_equal(pthread_attr_setstacksize(&huge, (size_t)1 << 52), 0);
	assert_int_equal(pthread_setattr_default_np(&huge), 0);
	assert_true(sender_open(&config, &sender, why, sizeof(why)) < 0);
	assert_int_equal(pthread_setattr_default_np(&usual), 0);
	assert_null(sender);
	assert_memory_equal(why, "OTLP: cannot start sending: ", 28);
	pthread_attr_destroy(&huge);
	pthread_attr_destroy(&usual);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(says_what_is_missing),
		cmocka_unit_test(says_that_no_thread_starts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
