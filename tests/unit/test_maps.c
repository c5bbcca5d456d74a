/* SPDX-License-Identifier: Apache-2.0 */
/* The text of /proc/PID/maps, well-formed and not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>

#include <cmocka.h>

#include "process/maps.h"

static const char sample[] =
	"00400000-004a6000 r--p 00000000 fd:01 131 /srv/api server\n"
	"004a6000-004f0000 r-xp 000a6000 fd:01 131 /srv/api server\n"
	"004f0000-00500000 rw-p 000f0000 fd:01 131 /srv/api server\n"
	"c000000000-c000400000 rw-p 00000000 00:00 0 \n"
	"7f0000000000-7f0000001000 r-xp 00000000 00:2f 18446744073709551615 /l\033[2Jib.so "
	"(deleted)\n"
	"7ffd00000000-7ffd00002000 r-xp 00000000 00:00 0                          [vdso]\n"
	"ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0                  [vsyscall]\n";

static void test_fields(void **state)
{
	const struct process_mapping *m;
	struct maps maps;

	assert_int_equal(maps_parse(sample, sizeof(sample) - 1, &maps), 0);
	assert_int_equal(maps.count, 7);
	assert_int_equal(maps.executable_count, 4);
	assert_int_equal(maps.dropped, 0);
	m = maps_find(&maps, 0x4a6000);
	assert_non_null(m);
	assert_ptr_equal(m, &maps.mappings[0]);
	assert_int_equal(m->limit, 0x4f0000);
	assert_int_equal(m->file_offset, 0xa6000);
	assert_int_equal(m->device, makedev(0xfd, 1));
	assert_int_equal(m->inode, 131);
	assert_true(m->executable);
	assert_string_equal(m->path, "/srv/api server");
	m = maps_find(&maps, 0x4a5fff);
	assert_int_equal(m->start, 0x400000);
	assert_false(m->executable);
	assert_string_equal(maps_find(&maps, 0xc000000000)->path, "");
	assert_string_equal(maps_find(&maps, 0x7ffd00001fff)->path, "[vdso]");
	assert_string_equal(maps_find(&maps, 0xffffffffff600000)->path, "[vsyscall]");
	/* The escape character cannot reach a terminal. */
	m = maps_find(&maps, 0x7f0000000fff);
	assert_string_equal(m->path, "/l\xef\xbf\xbd[2Jib.so (deleted)");
	assert_int_equal(m->inode, UINT64_MAX);
	maps_close(&maps);
}

static void test_addresses_between_mappings(void **state)
{
	struct maps maps;

	assert_int_equal(maps_parse(sample, sizeof(sample) - 1, &maps), 0);
	assert_null(maps_find(&maps, 0));
	assert_null(maps_find(&maps, 0x3fffff));
	assert_null(maps_find(&maps, 0x500000));
	assert_null(maps_find(&maps, UINT64_MAX));
	maps_close(&maps);
}

static void test_bad_lines_are_counted(void **state)
{
	static const char text[] = "00001000-00002000 r-xp 00000000 00:00 0 \n"
				   "nonsense\n"
				   "\n"
				   "00003000-00003000 r-xp 00000000 00:00 0 \n"
				   "00001800-00002800 r-xp 00000000 00:00 0 \n"
				   "111111111111111111111-00002800 r-xp 00000000 00:00 0 \n"
				   "00004000-00005000 r-xp 00000000 00:00 7 /a\n"
				   "00005000-00006000 r-xp 00000000 00:00 7 /cut";
	struct maps maps;

	assert_int_equal(maps_parse(text, sizeof(text) - 1, &maps), 0);
	assert_int_equal(maps.count, 2);
	assert_int_equal(maps.dropped, 6);
	assert_string_equal(maps.mappings[1].path, "/a");
	maps_close(&maps);
}

static void test_empty(void **state)
{
	struct maps maps;

	assert_int_equal(maps_parse(NULL, 0, &maps), 0);
	assert_int_equal(maps.count, 0);
	assert_null(maps_find(&maps, 0x1000));
	maps_close(&maps);
}

/* 70,000 mappings of which the last 10 are executable: these are kept, others go. */
static void test_executable_ones_first(void **state)
{
	enum { TOTAL = 70000, EXECUTABLE = 10 };
	size_t size = 0;
	char *text = malloc(TOTAL * 64);
	struct maps maps;

	for (uint64_t i = 0; i < TOTAL; i++)
		size += (size_t)sprintf(text + size, "%lx-%lx %s 00000000 00:00 0 \n",
					0x10000 + i * 0x2000, 0x11000 + i * 0x2000,
					i < TOTAL - EXECUTABLE ? "rw-p" : "r-xp");
	assert_int_equal(maps_parse(text, size, &maps), 0);
	assert_int_equal(maps.count, MAPS_COUNT_MAX);
	assert_int_equal(maps.executable_count, EXECUTABLE);
	assert_int_equal(maps.dropped, TOTAL - MAPS_COUNT_MAX);
	assert_non_null(maps_find(&maps, 0x10000 + (TOTAL - 1) * 0x2000UL));
	assert_non_null(maps_find(&maps, 0x10000));
	assert_null(maps_find(&maps, 0x10000 + (TOTAL - EXECUTABLE - 1) * 0x2000UL));
	maps_close(&maps);
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_fields),
		cmocka_unit_test(test_addresses_between_mappings),
		cmocka_unit_test(test_bad_lines_are_counted),
		cmocka_unit_test(test_empty),
		cmocka_unit_test(test_executable_ones_first),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
