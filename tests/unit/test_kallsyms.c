/* SPDX-License-Identifier: Apache-2.0 */
/* Kernel names: made-up tables, and this machine's own against a search of its own. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "symbolize/kallsyms.h"

static const char sample[] = "0000000000000000 A fixed_percpu_data\n"
			     "ffffffff81000000 T _stext\n"
			     "ffffffff81000100 T do_work\n"
			     "ffffffff81000100 t do_work_alias\n"
			     "ffffffff811001f0 t __pfx_schedule\n"
			     "ffffffff81100200 T schedule\n"
			     "ffffffff82000000 D jiffies\n"
			     "ffffffffc0000000 t ext4_read\t[ext4]\n"
			     "ffffffffa0000000 t nf_hook\t[nf]\n";

static void assert_name(const struct kallsyms *k, uint64_t address, const char *name,
			uint64_t expected_start)
{
	uint64_t start = 0;
	const char *found = kallsyms_find(k, address, &start);

	assert_non_null(found);
	assert_string_equal(found, name);
	assert_int_equal(start, expected_start);
}

static void test_find(void **state)
{
	struct kallsyms *k;
	uint64_t start;

	assert_int_equal(kallsyms_parse(sample, sizeof(sample) - 1, &k), 0);
	assert_false(kallsyms_is_hidden(k));
	assert_int_equal(kallsyms_count(k), 6);
	assert_name(k, 0xffffffff81000000, "_stext", 0xffffffff81000000);
	assert_name(k, 0xffffffff810000ff, "_stext", 0xffffffff81000000);
	assert_name(k, 0xffffffff81000123, "do_work", 0xffffffff81000100);
	assert_name(k, 0xffffffff81100210, "schedule", 0xffffffff81100200);
	/* Modules come out of order. */
	assert_name(k, 0xffffffffa0000004, "nf_hook", 0xffffffffa0000000);
	assert_name(k, 0xffffffffc0000004, "ext4_read", 0xffffffffc0000000);
	/* The nearest name is too far off to be true. */
	assert_null(kallsyms_find(k, 0xffffffff82000000, &start));
	assert_null(kallsyms_find(k, 0xffffffff80ffffff, &start));
	assert_null(kallsyms_find(k, 0, &start));
	assert_null(kallsyms_find(k, UINT64_MAX, &start));
	kallsyms_close(k);
	/* The very last function must not reach over to user space. */
	assert_int_equal(kallsyms_parse("ffffffffffffff80 T end\n", 23, &k), 0);
	assert_name(k, 0xffffffffffffffff, "end", 0xffffffffffffff80);
	assert_null(kallsyms_find(k, 0x10, &start));
	kallsyms_close(k);
}

static void test_hidden(void **state)
{
	static const char zeroed[] = "0000000000000000 T _stext\n"
				     "0000000000000000 t schedule\n";
	struct kallsyms *k;
	uint64_t start;

	assert_int_equal(kallsyms_parse(zeroed, sizeof(zeroed) - 1, &k), 0);
	assert_true(kallsyms_is_hidden(k));
	assert_int_equal(kallsyms_count(k), 0);
	assert_null(kallsyms_find(k, 0xffffffff81000000, &start));
	kallsyms_close(k);
	assert_int_equal(kallsyms_parse("", 0, &k), 0);
	assert_false(kallsyms_is_hidden(k));
	kallsyms_close(k);
}

static void test_odd_lines(void **state)
{
	static const char text[] = "\n"
				   "ffffffff81000000\n"
				   "ffffffff81000000 T\n"
				   "ffffffff81000000 T \n"
				   "fffffffff81000000 T too_long\n"
				   "nothing T here\n"
				   "ffffffff81000040 t good\n"
				   "0000000000001000 t of_user_space\n"
				   "ffffffff81000080 t without_newline";
	struct kallsyms *k;

	assert_int_equal(kallsyms_parse(text, sizeof(text) - 1, &k), 0);
	assert_int_equal(kallsyms_count(k), 1);
	assert_int_equal(kallsyms_dropped(k), 1);
	assert_name(k, 0xffffffff81000040, "good", 0xffffffff81000040);
	kallsyms_close(k);
}

/* A descriptor is read in pieces: the result must be that of the whole text. */
static void test_reading_in_pieces(void **state)
{
	enum { COUNT = 20000 };
	int fd = memfd_create("kallsyms", 0);
	FILE *file = fdopen(fd, "w+");
	struct kallsyms *k;

	for (unsigned int i = 0; i < COUNT; i++) {
		fprintf(file, "%016lx t function_%u%.*s\n", 0xffffffff81000000 + i * 16UL, i,
			(int)(i % 60),
			"____________________________________________________________");
		if (i % 1000 == 0) /* too long to be true, longer than a piece too */
			fprintf(file, "%016lx t %030000d\n", 0xffffffff81000000 + i * 16UL, 0);
	}
	fflush(file);
	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	assert_int_equal(kallsyms_read(fd, &k), 0);
	assert_int_equal(kallsyms_count(k), COUNT);
	for (unsigned int i = 0; i < COUNT; i++) {
		char name[128];

		snprintf(name, sizeof(name), "function_%u%.*s", i, (int)(i % 60),
			 "____________________________________________________________");
		assert_name(k, 0xffffffff81000000 + i * 16UL + 7, name,
			    0xffffffff81000000 + i * 16UL);
	}
	kallsyms_close(k);
	fclose(file);
}

/* Too many functions: those kept have their names, at those left out there is none. */
static void test_cap(void **state)
{
	enum { COUNT = 200000, MODULE = 0x40000000 };
	char *text = malloc(COUNT * 64), name[32];
	uint64_t start, kept, dropped;
	struct kallsyms *k;
	size_t size;

	/* A module that is read early lies far from those left out. */
	size = (size_t)sprintf(text, "%016lx t module\n", 0xffffffff81000000 + MODULE);
	for (unsigned int i = 1; i < COUNT; i++)
		size += (size_t)sprintf(text + size, "%016lx t f%u\n",
					0xffffffff81000000 + i * 16UL, i);
	assert_int_equal(kallsyms_parse(text, size, &k), 0);
	kept = kallsyms_count(k);
	dropped = kallsyms_dropped(k);
	assert_true(dropped > 0);
	assert_int_equal(kept + dropped, COUNT);
	assert_true(kallsyms_bytes(k) <= 4 << 20);
	for (unsigned int i = 1; i < COUNT; i++) {
		uint64_t address = 0xffffffff81000000 + i * 16UL;

		snprintf(name, sizeof(name), "f%u", i);
		if (i < kept)
			assert_name(k, address + 15, name, address);
		else
			assert_null(kallsyms_find(k, address, &start));
	}
	assert_name(k, 0xffffffff81000000 + MODULE, "module", 0xffffffff81000000 + MODULE);
	kallsyms_close(k);
	free(text);
}

/* Too long names: each address has its own or none. */
static void test_cap_of_names(void **state)
{
	enum { COUNT = 50000 };
	char *text = malloc(COUNT * 160), name[128];
	uint64_t start, unknown = 0;
	struct kallsyms *k;
	size_t size = 0;

	for (unsigned int i = 0; i < COUNT; i++)
		size += (size_t)sprintf(text + size, "%016lx t f%099u\n",
					0xffffffff81000000 + i * 16UL, i);
	assert_int_equal(kallsyms_parse(text, size, &k), 0);
	for (unsigned int i = 0; i < COUNT; i++) {
		uint64_t address = 0xffffffff81000000 + i * 16UL;
		const char *found = kallsyms_find(k, address + 3, &start);

		snprintf(name, sizeof(name), "f%099u", i);
		if (!found)
			unknown++;
		else
			assert_string_equal(found, name);
	}
	assert_in_range(unknown, COUNT / 10, COUNT / 2);
	assert_int_equal(kallsyms_dropped(k), unknown);
	assert_true(kallsyms_bytes(k) <= 4 << 20);
	kallsyms_close(k);
	free(text);
}

/* Each function of this kernel at its own address; kernels may hide them. */
static void test_this_kernel(void **state)
{
	FILE *file = fopen("/proc/kallsyms", "r");
	int fd = open("/proc/kallsyms", O_RDONLY);
	char name[600], module[100] = "", type;
	uint64_t address, start, checked = 0, equal = 0;
	struct kallsyms *k;

	assert_non_null(file);
	assert_int_equal(kallsyms_read(fd, &k), 0);
	close(fd);
	for (; fscanf(file, "%lx %c %599s%99[^\n]", &address, &type, name, module) >= 3;
	     module[0] = '\0') {
		const char *found;

		if (!address || !strchr("tT", type) || !strncmp(name, "__pfx_", 6) ||
		    !strncmp(name, "__cfi_", 6))
			continue;
		if (strstr(module, "[bpf]")) /* others load and unload them meanwhile */
			continue;
		found = kallsyms_find(k, address, &start);
		assert_non_null(found);
		assert_int_equal(start, address);
		checked++;
		equal += !strcmp(found, name);
	}
	assert_true(checked > 10000 || kallsyms_is_hidden(k));
	/* The rest are second names of the same address. */
	assert_true(equal >= checked * 99 / 100);
	assert_true(kallsyms_bytes(k) <= 4 << 20);
	kallsyms_close(k);
	fclose(file);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_find),	    cmocka_unit_test(test_hidden),
		cmocka_unit_test(test_odd_lines),   cmocka_unit_test(test_reading_in_pieces),
		cmocka_unit_test(test_cap),	    cmocka_unit_test(test_cap_of_names),
		cmocka_unit_test(test_this_kernel),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
