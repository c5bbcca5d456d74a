/* SPDX-License-Identifier: Apache-2.0 */
/* R_*_RELATIVE relocations of a PIE, by place and by addend. Private to elf_image. */
#ifndef GOBINARY_ELF_RELOCS_H
#define GOBINARY_ELF_RELOCS_H

#include <stdint.h>

struct elf_image;
struct elf_relocs;

/* Reads the table once. An image without relocations gives an empty index. -EINVAL, -ENOMEM. */
int elf_relocs_open(struct elf_image *image, struct elf_relocs **out);
void elf_relocs_close(struct elf_relocs *r);
/* The addend that is stored at `place`. -ENOENT none. */
int elf_relocs_find(struct elf_relocs *r, struct elf_image *image, uint64_t place,
		    uint64_t *addend);
/*
 * The lowest place >= `from` with that addend, 8-aligned and in a writable segment. -ENOENT none.
 * One pass, however many other places have the addend.
 */
int elf_relocs_find_addend(struct elf_relocs *r, struct elf_image *image, uint64_t addend,
			   uint64_t from, uint64_t *place);

#endif
