/* SPDX-License-Identifier: Apache-2.0 */
/* What elf_image.c and elf_words.c share: the open file and its program headers. */
#ifndef GOBINARY_ELF_IMAGE_PRIVATE_H
#define GOBINARY_ELF_IMAGE_PRIVATE_H

#include "gobinary/elf_image.h"
#include "gobinary/elf_relocs.h"

/* Real files have up to some 20 program headers, 10 of them PT_LOAD. */
#define ELF_MAX_PROGRAM_HEADERS 128
#define ELF_MAX_SEGMENTS	32
#define ELF_MAX_NOTES		8

struct elf_image {
	int fd;
	struct block_cache *cache; /* lent */
	uint64_t file_size;
	uint16_t type, machine;
	uint64_t section_offset;
	uint16_t section_count, section_names;
	size_t segment_count, note_count;
	struct elf_segment segments[ELF_MAX_SEGMENTS];
	struct elf_segment notes[ELF_MAX_NOTES];
	struct elf_segment dynamic; /* all 0: none */
	struct elf_tls tls;
	struct elf_relocs *relocs; /* made at the first read of a word of a PIE */
};

/* The PT_LOAD that holds an address; NULL none. */
const struct elf_segment *elf_image_segment_at(const struct elf_image *image, uint64_t address);

#endif
