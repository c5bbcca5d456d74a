/* SPDX-License-Identifier: Apache-2.0 */
/* Puts fuzzed bytes into an open ELF image, as its only segment or as the whole file. */
#ifndef TESTS_FUZZ_GO_FILE_H
#define TESTS_FUZZ_GO_FILE_H

#include <elf.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "gobinary/block_cache.h"
#include "gobinary/elf_image.h"

#define GO_FILE_ADDRESS 0x401000ull /* of the segment, readable and writable */

struct go_file {
	struct block_cache *cache;
	struct elf_image *image; /* NULL: not an ELF file */
};

static inline void go_file_close(struct go_file *f)
{
	elf_image_close(f->image);
	block_cache_close(f->cache);
}

static inline int go_file_open(struct go_file *f, const void *head, size_t head_size,
			       const void *data, size_t size)
{
	int fd = memfd_create("fuzz", MFD_CLOEXEC);
	int err = -1;

	*f = (struct go_file){NULL, NULL};
	if (fd < 0)
		return -1;
	if (write(fd, head, head_size) == (ssize_t)head_size &&
	    write(fd, data, size) == (ssize_t)size && !block_cache_open(1 << 18, &f->cache))
		err = elf_image_open(fd, f->cache, &f->image);
	close(fd);
	return err;
}

/* The bytes as a segment; the first bit of `type` makes the file a PIE. */
static inline int go_file_open_segment(struct go_file *f, uint8_t type, const uint8_t *data,
				       size_t size)
{
	struct {
		Elf64_Ehdr e;
		Elf64_Phdr p;
	} head = {
		.e = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
		      .e_type = type & 1 ? ET_DYN : ET_EXEC,
		      .e_machine = EM_X86_64,
		      .e_phoff = sizeof(head.e),
		      .e_phentsize = sizeof(head.p),
		      .e_phnum = 1},
		.p = {.p_type = PT_LOAD,
		      .p_flags = PF_R | PF_W,
		      .p_offset = sizeof(head),
		      .p_vaddr = GO_FILE_ADDRESS,
		      .p_filesz = size,
		      .p_memsz = size + 64},
	};

	return go_file_open(f, &head, sizeof(head), data, size);
}

#endif
