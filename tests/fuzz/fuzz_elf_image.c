/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzzes the ELF reader with whole files: headers, sections, notes, relocations, words. */
#include "go_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Of three segments, for speed: a search goes over a whole segment. */
static void read_words(struct elf_image *image)
{
	for (size_t i = 0; i < elf_image_segment_count(image) && i < 3; i++) {
		const struct elf_segment *s = elf_image_get_segment(image, i);
		const uint64_t places[] = {s->address, s->address + s->memory_size - 4,
					   s->address + s->file_size - 8};

		for (size_t k = 0; k < sizeof(places) / sizeof(*places); k++) {
			uint64_t word, place = 0, offset;

			if (!elf_image_read_word(image, places[k], &word))
				elf_image_find_word(image, word, &place);
			elf_image_offset_of(image, places[k], &offset);
		}
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct elf_section section;
	struct go_file f;
	char text[64];
	size_t used;

	if (!go_file_open(&f, NULL, 0, data, size)) {
		elf_image_find_section(f.image, ".gopclntab", &section);
		elf_image_get_build_id(f.image, text, sizeof(text));
		elf_image_get_note(f.image, "Go", 4, text, sizeof(text), &used);
		read_words(f.image);
		elf_image_settle(f.image);
		read_words(f.image);
	}
	go_file_close(&f);
	return 0;
}
