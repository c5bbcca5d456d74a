/* SPDX-License-Identifier: Apache-2.0 */
/* Files that show cannot use: one line each that says why. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <fcntl.h>
#include <unistd.h>

#include "agent/agent.h"
#include "agent/options.h"
#include "agent/show.h"
#include "base/log.h"
#include "format/format.h"

static char path[] = "/tmp/test_show_XXXXXX";
static int file = -1;

static int open_file(void **state)
{
	strcpy(path + strlen(path) - 6, "XXXXXX");
	file = mkstemp(path);
	return file < 0;
}

static int remove_file(void **state)
{
	close(file);
	return unlink(path);
}

static void assert_show_says(const char *why)
{
	struct options options = {.files = {path}, .file_count = 1};
	char said[512], wanted[512];
	struct log log;
	ssize_t size;
	int fds[2];

	assert_int_equal(pipe2(fds, O_NONBLOCK), 0);
	log = (struct log){.fd = fds[1]};
	assert_int_equal(show_run(&options, &log), EXIT_FAILED);
	size = read(fds[0], said, sizeof(said) - 1);
	assert_true(size > 0);
	said[size] = '\0';
	snprintf(wanted, sizeof(wanted), "spanprof: error: %s: %s\n", path, why);
	assert_string_equal(said, wanted);
	close(fds[0]);
	close(fds[1]);
}

/* A file that is one dictionary of empty mappings, two bytes each. */
static void write_mappings(size_t count)
{
	size_t size = 2 * count;
	uint8_t *data = calloc(1, size + 4);

	assert_non_null(data);
	data[0] = 0x12;
	data[1] = 0x80 | (size & 0x7f);
	data[2] = 0x80 | (size >> 7 & 0x7f);
	data[3] = (uint8_t)(size >> 14);
	for (size_t i = 0; i < count; i++)
		data[4 + 2 * i] = 0x0a;
	assert_int_equal(write(file, data, size + 4), size + 4);
	free(data);
}

static void an_empty_file(void **state)
{
	assert_show_says("no profile of CPU samples in it");
}

static void a_file_over_the_limit(void **state)
{
	assert_int_equal(ftruncate(file, (off_t)FORMAT_OTLP_FILE_BYTES_MAX + 1), 0);
	assert_show_says("larger than 128 MiB");
}

static void a_few_empty_messages(void **state)
{
	write_mappings(500);
	assert_show_says("no profile of CPU samples in it");
}

static void too_many_empty_messages(void **state)
{
	write_mappings(200000);
	assert_show_says("too large once unpacked, or out of memory");
}

static void no_regular_file(void **state)
{
	char *kept = strdup(path);

	strcpy(path, "/tmp");
	assert_show_says("not a regular file");
	strcpy(path, kept);
	free(kept);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(an_empty_file, open_file, remove_file),
		cmocka_unit_test_setup_teardown(a_file_over_the_limit, open_file, remove_file),
		cmocka_unit_test_setup_teardown(a_few_empty_messages, open_file, remove_file),
		cmocka_unit_test_setup_teardown(too_many_empty_messages, open_file, remove_file),
		cmocka_unit_test_setup_teardown(no_regular_file, open_file, remove_file),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
