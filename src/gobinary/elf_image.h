/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A 64-bit little-endian ELF file, read by virtual address through a descriptor. Program headers
 * are enough; section headers are a hint. Every size and count from the file is checked and capped.
 */
#ifndef GOBINARY_ELF_IMAGE_H
#define GOBINARY_ELF_IMAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct block_cache;
struct elf_image;

struct elf_segment {	  /* of PT_LOAD */
	uint64_t address; /* p_vaddr */
	uint64_t memory_size;
	uint64_t offset; /* p_offset */
	uint64_t file_size;
	uint32_t flags; /* PF_R, PF_W, PF_X */
};

struct elf_section {
	uint64_t address;
	uint64_t offset;
	uint64_t size;
	uint32_t type;
};

struct elf_tls { /* PT_TLS; all 0: the file has none */
	uint64_t memory_size;
	uint64_t alignment;
};

/*
 * Takes its own duplicate of `fd`; `cache` is lent and outlives the image. Errors: -ENOEXEC not
 * such an ELF file (or not of this machine's word size and order), -EINVAL malformed, -ENOMEM.
 */
int elf_image_open(int fd, struct block_cache *cache, struct elf_image **out);
void elf_image_close(struct elf_image *image);
/* Whether its file has no name any more. */
bool elf_image_is_deleted(const struct elf_image *image);

bool elf_image_is_pie(const struct elf_image *image);	   /* ET_DYN: addresses get a load bias */
uint16_t elf_image_machine(const struct elf_image *image); /* EM_X86_64, EM_AARCH64 */
size_t elf_image_segment_count(const struct elf_image *image);
const struct elf_segment *elf_image_get_segment(const struct elf_image *image, size_t index);
struct elf_tls elf_image_get_tls(const struct elf_image *image);
/* -ENOENT when there is no such section (or no section headers at all). */
int elf_image_find_section(const struct elf_image *image, const char *name,
			   struct elf_section *out);
/* Virtual address ⇄ file offset of loaded bytes. -ERANGE when not backed by the file. */
int elf_image_offset_of(const struct elf_image *image, uint64_t address, uint64_t *offset);

/* Exactly `size` bytes at a virtual address; zero-filled memory (.bss) reads as 0. -ERANGE. */
int elf_image_read(struct elf_image *image, uint64_t address, void *to, size_t size);
/* The same by file offset. */
int elf_image_read_file(struct elf_image *image, uint64_t offset, void *to, size_t size);
/*
 * A pointer-sized word as it stands after relocation with a load bias of 0: R_*_RELATIVE addends
 * of a PIE win over the bytes in the file.
 */
int elf_image_read_word(struct elf_image *image, uint64_t address, uint64_t *word);
/* So many of them in a row; but for a PIE, at the cost of one. */
int elf_image_read_words(struct elf_image *image, uint64_t address, uint64_t *words, size_t count);
/* The address of a place (8-aligned, in a writable segment) whose relocated word equals `value`,
 * from `*place` + 8 on (0: from the start). -ENOENT no further one. */
int elf_image_find_word(struct elf_image *image, uint64_t value, uint64_t *place);
/*
 * The contents of a note, cut at `size` bytes; `*used` is what was written. `owner` is "GNU", "Go".
 * -ENOENT.
 */
int elf_image_get_note(struct elf_image *image, const char *owner, uint32_t type, void *to,
		       size_t size, size_t *used);
/* Hex of the GNU build-id note. -ENOENT. */
int elf_image_get_build_id(struct elf_image *image, char *hex, size_t hex_size);
/* Reads go through `cache` from here on; nothing stays in the old one. NULL: none until set anew.
 */
void elf_image_set_cache(struct elf_image *image, struct block_cache *cache);
/* Frees the relocation index. The next read of a word makes it anew: for those who read no more. */
void elf_image_settle(struct elf_image *image);

#endif
