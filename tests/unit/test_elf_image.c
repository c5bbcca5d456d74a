/* SPDX-License-Identifier: Apache-2.0 */
/* The ELF reader: addresses, sections, notes, words, and files that lie. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>

#include "image_fixture.h"

#define BASE 0x400000

static void reads_by_address(void **state)
{
	struct elf_file f;
	struct elf_image *image;
	const struct elf_segment *s;
	uint64_t offset;
	uint8_t got[16];

	elf_file_open(&f, BASE);
	buffer_printf(&f.constants, "constants");
	buffer_printf(&f.data, "data");
	f.bss = 100;
	image = open_file(&f);
	assert_false(elf_image_is_pie(image));
	assert_int_equal(elf_image_machine(image), EM_X86_64);
	assert_int_equal(elf_image_segment_count(image), 2);
	s = elf_image_get_segment(image, 1);
	assert_int_equal(s->address, BASE + ELF_FILE_DATA);
	assert_int_equal(s->memory_size, 104);
	assert_int_equal(s->file_size, 4);
	assert_int_equal(s->flags, PF_R | PF_W);
	assert_null(elf_image_get_segment(image, 2));

	assert_int_equal(elf_image_read(image, BASE + ELF_FILE_CONSTANTS + 2, got, 7), 0);
	assert_memory_equal(got, "nstants", 7);
	/* From the file into .bss, and wholly within it. */
	assert_int_equal(elf_image_read(image, BASE + ELF_FILE_DATA + 2, got, 6), 0);
	assert_memory_equal(got, "ta\0\0\0", 6);
	assert_int_equal(elf_image_read(image, BASE + ELF_FILE_DATA + 96, got, 8), 0);
	assert_memory_equal(got, "\0\0\0\0\0\0\0", 8);
	assert_int_equal(elf_image_read(image, BASE + ELF_FILE_DATA + 97, got, 8), -ERANGE);
	assert_int_equal(elf_image_read(image, BASE + ELF_FILE_CONSTANTS + 9, got, 1), -ERANGE);
	assert_int_equal(elf_image_read(image, BASE - 1, got, 1), -ERANGE);
	assert_int_equal(elf_image_read(image, UINT64_MAX, got, 8), -ERANGE);
	assert_int_equal(elf_image_offset_of(image, BASE + ELF_FILE_CONSTANTS + 3, &offset), 0);
	assert_int_equal(offset, 4096 + 3);
	assert_int_equal(elf_image_offset_of(image, BASE + ELF_FILE_DATA + 4, &offset), -ERANGE);
	/* The data lies one page behind the constants, a byte before the file's end. */
	assert_int_equal(elf_image_read_file(image, 8192 + 4, got, 1), 0);
	assert_int_equal(elf_image_read_file(image, 8192 + 4, got, 2), -ERANGE);
	elf_image_close(image);
	elf_file_close(&f);
}

static void finds_sections(void **state)
{
	struct elf_file f;
	struct elf_image *image;
	struct elf_section s;

	elf_file_open(&f, BASE);
	buffer_printf(&f.constants, "x");
	f.sections[0].name = ".go.buildinfo";
	f.sections[0].address = 7;
	f.sections[1].name = ".gopclntab";
	f.sections[1].address = 0x401234;
	f.sections[1].size = 99;
	image = open_file(&f);
	assert_int_equal(elf_image_find_section(image, ".gopclntab", &s), 0);
	assert_int_equal(s.address, 0x401234);
	assert_int_equal(s.size, 99);
	assert_int_equal(s.type, SHT_PROGBITS);
	/* Neither a prefix nor a suffix is the name. */
	assert_int_equal(elf_image_find_section(image, ".gopclnta", &s), -ENOENT);
	assert_int_equal(elf_image_find_section(image, "gopclntab", &s), -ENOENT);
	elf_image_close(image);
	f.sections[0].name = NULL;
	image = open_file(&f);
	assert_int_equal(elf_image_find_section(image, ".gopclntab", &s), -ENOENT);
	elf_image_close(image);
	elf_file_close(&f);
}

static void reads_notes(void **state)
{
	struct elf_file f;
	struct elf_image *image;
	char text[16];
	size_t used;

	elf_file_open(&f, BASE);
	elf_file_add_note(&f, "Go", 4, "abc/def", 7);
	elf_file_add_note(&f, "GNU", 1, "other", 5);
	elf_file_add_note(&f, "GNU", 3, "\x01\xab\xff", 3);
	image = open_file(&f);
	assert_int_equal(elf_image_get_build_id(image, text, 7), 0);
	assert_string_equal(text, "01abff");
	assert_int_equal(elf_image_get_build_id(image, text, 6), -EINVAL);
	assert_int_equal(elf_image_get_note(image, "Go", 4, text, sizeof(text), &used), 0);
	assert_int_equal(used, 7);
	assert_memory_equal(text, "abc/def", 7);
	assert_int_equal(elf_image_get_note(image, "Go", 4, text, 2, &used), 0);
	assert_int_equal(used, 2);
	assert_int_equal(elf_image_get_note(image, "Go", 5, text, 2, &used), -ENOENT);
	elf_image_close(image);
	/* A size that reaches beyond the segment. */
	f.note.data[4] = 0xff;
	f.note.data[5] = 0xff;
	image = open_file(&f);
	assert_int_equal(elf_image_get_note(image, "Go", 4, text, 2, &used), -ENOENT);
	elf_image_close(image);
	elf_file_close(&f);
}

static void finds_words(void **state)
{
	uint64_t data = BASE + ELF_FILE_DATA, place = 0, word;
	struct elf_file f;
	struct elf_image *image;

	elf_file_open(&f, BASE);
	/* In constants it does not count; at an odd place neither. */
	add_u64(&f.constants, 0x1122334455667788);
	add_u64(&f.data, 0x1122334455667788);
	add_u32(&f.data, 0);
	add_u64(&f.data, 0x1122334455667788);
	add_align(&f.data, 8);
	for (size_t i = 0; i < 100000; i++)
		add_u64(&f.data, i);
	add_u64(&f.data, 0x1122334455667788);
	f.bss = 64;
	image = open_file(&f);
	assert_int_equal(elf_image_find_word(image, 0x1122334455667788, &place), 0);
	assert_int_equal(place, data);
	assert_int_equal(elf_image_find_word(image, 0x1122334455667788, &place), 0);
	assert_int_equal(place, data + 24 + 800000);
	assert_int_equal(elf_image_find_word(image, 0x1122334455667788, &place), -ENOENT);
	assert_int_equal(elf_image_read_word(image, data + 24 + 8, &word), 0);
	assert_int_equal(word, 1);
	elf_image_close(image);
	elf_file_close(&f);
}

/* Composes a small file, lets `spoil` change its bytes, and says what opening it gives. */
static int open_spoilt(void (*spoil)(struct buffer *file))
{
	struct elf_image *image = NULL;
	struct elf_file f;
	struct buffer out;
	int fd, err;

	elf_file_open(&f, BASE);
	buffer_printf(&f.constants, "constants");
	elf_file_compose(&f, &out);
	if (spoil)
		spoil(&out);
	fd = memory_file(out.data, out.size);
	err = elf_image_open(fd, cache, &image);
	elf_image_close(image);
	close(fd);
	buffer_close(&out);
	elf_file_close(&f);
	return err;
}

static Elf64_Ehdr *header(struct buffer *file)
{
	return (Elf64_Ehdr *)file->data;
}

static Elf64_Phdr *first_segment(struct buffer *file)
{
	return (Elf64_Phdr *)(file->data + sizeof(Elf64_Ehdr));
}

static void no_magic(struct buffer *file)
{
	file->data[1] = 'e';
}

static void narrow(struct buffer *file)
{
	file->data[EI_CLASS] = ELFCLASS32;
}

static void object_file(struct buffer *file)
{
	header(file)->e_type = ET_REL;
}

static void cut_header(struct buffer *file)
{
	file->size = 63;
}

static void cut_segments(struct buffer *file)
{
	file->size = 64 + 20;
}

static void no_segments(struct buffer *file)
{
	header(file)->e_phnum = 0;
}

static void many_segments(struct buffer *file)
{
	header(file)->e_phnum = 0xffff;
}

static void far_headers(struct buffer *file)
{
	header(file)->e_phoff = UINT64_MAX - 8;
}

static void wrapping_segment(struct buffer *file)
{
	first_segment(file)->p_vaddr = UINT64_MAX - 4;
}

static void more_file_than_memory(struct buffer *file)
{
	first_segment(file)->p_memsz = 1;
}

static void refuses_bad_files(void **state)
{
	struct elf_image *image = NULL;
	int fd = open("/", O_RDONLY | O_CLOEXEC);

	assert_int_equal(open_spoilt(NULL), 0);
	assert_int_equal(open_spoilt(no_magic), -ENOEXEC);
	assert_int_equal(open_spoilt(narrow), -ENOEXEC);
	assert_int_equal(open_spoilt(object_file), -ENOEXEC);
	assert_int_equal(open_spoilt(cut_header), -ENOEXEC);
	assert_int_equal(open_spoilt(cut_segments), -EINVAL);
	assert_int_equal(open_spoilt(no_segments), -EINVAL);
	assert_int_equal(open_spoilt(many_segments), -EINVAL);
	assert_int_equal(open_spoilt(far_headers), -EINVAL);
	assert_int_equal(open_spoilt(wrapping_segment), -EINVAL);
	assert_int_equal(open_spoilt(more_file_than_memory), -EINVAL);
	assert_int_equal(elf_image_open(fd, cache, &image), -ENOEXEC);
	assert_int_equal(elf_image_open(-1, cache, &image), -EBADF);
	close(fd);
}

static void survives_truncation(void **state)
{
	struct elf_file f;
	struct elf_image *image;
	uint64_t place = 0;
	uint8_t got[4];
	int fd;

	elf_file_open(&f, BASE);
	buffer_printf(&f.constants, "constants");
	for (uint64_t i = 0; i < 100000; i++)
		add_u64(&f.data, i);
	fd = elf_file_write(&f);
	assert_int_equal(elf_image_open(fd, cache, &image), 0);
	assert_int_equal(ftruncate(fd, 200), 0);
	assert_int_equal(elf_image_read(image, BASE + ELF_FILE_DATA + 400000, got, 4), -ERANGE);
	assert_int_equal(elf_image_find_word(image, 77777, &place), -ENOENT);
	elf_image_close(image);
	close(fd);
	elf_file_close(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_by_address),  cmocka_unit_test(finds_sections),
		cmocka_unit_test(reads_notes),	     cmocka_unit_test(finds_words),
		cmocka_unit_test(refuses_bad_files), cmocka_unit_test(survives_truncation),
	};

	return cmocka_run_group_tests(tests, open_cache, close_cache);
}
