/* SPDX-License-Identifier: Apache-2.0 */
/* Log lines: one each, cleaned, by level; the two clocks. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"

static void assert_written(int fd, const char *expected)
{
	char text[8192];
	ssize_t size = read(fd, text, sizeof(text) - 1);

	assert_true(size >= 0);
	text[size] = '\0';
	assert_string_equal(text, expected);
}

static void test_levels(void **state)
{
	struct log log;
	int fds[2];

	assert_int_equal(pipe(fds), 0);
	log = (struct log){.fd = fds[1]};
	log_error(&log, "no such process: %d", 7);
	assert_written(fds[0], "spanprof: error: no such process: 7\n");
	log_warn(&log, "kernel names are hidden");
	assert_written(fds[0], "spanprof: warning: kernel names are hidden\n");
	log_debug(&log, "left out");
	log_info(&log, "attached\n");
	assert_written(fds[0], "spanprof: attached\n");
	log.verbose = true;
	log_debug(&log, "shown");
	assert_written(fds[0], "spanprof: debug: shown\n");
	close(fds[0]);
	close(fds[1]);
}

/* What a target chose can neither start a line nor reach the terminal's interpreter. */
static void test_foreign_text(void **state)
{
	char long_text[5000];
	struct log log;
	int fds[2];
	char text[8192];
	ssize_t size;

	assert_int_equal(pipe(fds), 0);
	log = (struct log){.fd = fds[1]};
	log_info(&log, "span %s", "a\nspanprof: error: b\x1b[31m\xff");
	assert_written(fds[0], "spanprof: span a\xef\xbf\xbdspanprof: error: "
			       "b\xef\xbf\xbd[31m\xef\xbf\xbd\n");
	memset(long_text, 'x', sizeof(long_text) - 1);
	long_text[sizeof(long_text) - 1] = '\0';
	log_error(&log, "%s", long_text);
	size = read(fds[0], text, sizeof(text));
	assert_true(size > 2000 && size < 2200);
	assert_int_equal(text[size - 1], '\n');
	close(fds[0]);
	close(fds[1]);
}

static void test_clocks(void **state)
{
	uint64_t first = clock_monotonic_ns(), wall = clock_wall_ns(), second;
	uint64_t now = (uint64_t)time(NULL) * 1000000000;

	second = clock_monotonic_ns();
	assert_true(second >= first);
	assert_true(wall + 1000000000 > now && wall < now + 2000000000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_levels),
		cmocka_unit_test(test_foreign_text),
		cmocka_unit_test(test_clocks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
