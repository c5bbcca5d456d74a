/* SPDX-License-Identifier: Apache-2.0 */
/* Words of a PIE as its relocations make them, and relocations that are there to waste time. */
#include <errno.h>

#include "image_fixture.h"

/* 2000 words; every second one is relocated to 0x10000 + its index, in the order given. */
static void check_relocated(bool sorted)
{
	uint64_t place = 0, word;
	struct elf_file f;
	struct elf_image *image;

	elf_file_open(&f, 0);
	add_u64(&f.constants, 0);
	for (uint64_t i = 0; i < 2000; i++)
		add_u64(&f.data, i % 2 ? 0x20000 + i : 0xdead);
	for (uint64_t i = 0; i < 2000; i += 2) {
		uint64_t n = sorted ? i : i * 7 % 2000;

		elf_file_relocate(&f, ELF_FILE_DATA + n * 8, 0x10000 + n);
	}
	/* Of another type: not a word that is known. */
	elf_file_relocate(&f, ELF_FILE_DATA + 8, 0x99999);
	f.relocations.data[f.relocations.size - 16] = R_X86_64_GLOB_DAT;
	image = open_file(&f);
	assert_true(elf_image_is_pie(image));
	for (int settled = 0; settled < 2; settled++) {
		for (uint64_t i = 0; i < 2000; i++) {
			assert_int_equal(elf_image_read_word(image, ELF_FILE_DATA + i * 8, &word),
					 0);
			assert_int_equal(word, (i % 2 ? 0x20000 : 0x10000) + i);
		}
		elf_image_settle(image);
	}
	for (uint64_t i = 0; i < 2000; i += 333) {
		place = 0;
		assert_int_equal(
			elf_image_find_word(image, (i % 2 ? 0x20000 : 0x10000) + i, &place), 0);
		assert_int_equal(place, ELF_FILE_DATA + i * 8);
	}
	/* The bytes in the file below a relocation do not count. */
	place = 0;
	assert_int_equal(elf_image_find_word(image, 0xdead, &place), -ENOENT);
	assert_int_equal(elf_image_find_word(image, 0x99999, &place), -ENOENT);
	elf_image_close(image);
	elf_file_close(&f);
}

static void reads_sorted_relocations(void **state)
{
	check_relocated(true);
}

static void reads_unsorted_relocations(void **state)
{
	check_relocated(false);
}

static void finds_relocated_words_in_order(void **state)
{
	uint64_t place = 0;
	struct elf_file f;
	struct elf_image *image;

	elf_file_open(&f, 0);
	add_u64(&f.constants, 0);
	for (int i = 0; i < 6; i++)
		add_u64(&f.data, i == 2 || i == 5 ? 0x1234 : 0);
	elf_file_relocate(&f, ELF_FILE_CONSTANTS, 0x1234);
	elf_file_relocate(&f, ELF_FILE_DATA + 8, 0x1234);
	elf_file_relocate(&f, ELF_FILE_DATA + 32, 0x1234);
	image = open_file(&f);
	for (uint64_t expected = 1; expected < 6; expected += expected == 2 ? 2 : 1) {
		assert_int_equal(elf_image_find_word(image, 0x1234, &place), 0);
		assert_int_equal(place, ELF_FILE_DATA + expected * 8);
	}
	assert_int_equal(elf_image_find_word(image, 0x1234, &place), -ENOENT);
	elf_image_close(image);
	elf_file_close(&f);
}

/* As many relocations as can be that hold the value, but none where a word is looked for. */
static void passes_by_hostile_relocations(void **state)
{
	uint64_t place = 0;
	struct elf_file f;
	struct elf_image *image;

	for (int sorted = 0; sorted < 2; sorted++, place = 0) {
		elf_file_open(&f, 0);
		add_u64(&f.constants, 0);
		add_u64(&f.data, 0);
		if (!sorted)
			elf_file_relocate(&f, ELF_FILE_DATA, 0x1234);
		for (uint64_t i = 0; i < 300000; i++)
			elf_file_relocate(&f, ELF_FILE_CONSTANTS + i, 0x1234);
		if (sorted)
			elf_file_relocate(&f, ELF_FILE_DATA, 0x1234);
		image = open_file(&f);
		alarm(10);
		assert_int_equal(elf_image_find_word(image, 0x1234, &place), 0);
		assert_int_equal(place, ELF_FILE_DATA);
		assert_int_equal(elf_image_find_word(image, 0x1234, &place), -ENOENT);
		alarm(0);
		elf_image_close(image);
		elf_file_close(&f);
	}
}

/* Each place has the value's bytes and a relocation to another: checking them has an end. */
static void gives_up_on_misleading_bytes(void **state)
{
	uint64_t place = 0;
	struct elf_file f;
	struct elf_image *image;

	elf_file_open(&f, 0);
	add_u64(&f.constants, 0);
	for (uint64_t i = 0; i < 100000; i++) {
		add_u64(&f.data, 0x1234);
		elf_file_relocate(&f, ELF_FILE_DATA + i * 8, 0x9999);
	}
	add_u64(&f.data, 0x1234);
	image = open_file(&f);
	assert_int_equal(elf_image_find_word(image, 0x1234, &place), -ENOENT);
	/* The last thousand and the word itself are few enough. */
	place = ELF_FILE_DATA + 99000 * 8;
	assert_int_equal(elf_image_find_word(image, 0x1234, &place), 0);
	assert_int_equal(place, ELF_FILE_DATA + 100000 * 8);
	elf_image_close(image);
	elf_file_close(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_sorted_relocations),
		cmocka_unit_test(reads_unsorted_relocations),
		cmocka_unit_test(finds_relocated_words_in_order),
		cmocka_unit_test(passes_by_hostile_relocations),
		cmocka_unit_test(gives_up_on_misleading_bytes),
	};

	return cmocka_run_group_tests(tests, open_cache, close_cache);
}
