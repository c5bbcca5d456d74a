/* SPDX-License-Identifier: Apache-2.0 */
/* Where the current g lies, from the thread pointer; see tls_offset.h. */
#include "gobinary/tls_offset.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>

#include "gobinary/elf_image.h"
#include "gobinary/elf_image_private.h"
#include "gobinary/tls_offset_arch.h"

#define MAX_CODE_BYTES 256
#define MAX_DYNAMIC    512
#define MAX_ENTRIES    ((uint64_t)4 << 20)
#define WALK_ENTRIES   4096
/* Real servers link some KiB of thread-local data. */
#define MAX_OFFSET (1 << 20)

struct tables { /* of PT_DYNAMIC; 0: none */
	uint64_t relocations, relocation_bytes;
	uint64_t symbols;
};

static struct tables find_tables(struct elf_image *image)
{
	uint64_t entries = image->dynamic.file_size / sizeof(Elf64_Dyn);
	struct tables t = {0};

	for (uint64_t i = 0; i < entries && i < MAX_DYNAMIC; i++) {
		Elf64_Dyn d;

		if (elf_image_read_file(image, image->dynamic.offset + i * sizeof(d), &d,
					sizeof(d)) ||
		    d.d_tag == DT_NULL)
			break;
		if (d.d_tag == DT_RELA)
			t.relocations = d.d_un.d_ptr;
		else if (d.d_tag == DT_RELASZ)
			t.relocation_bytes = d.d_un.d_val;
		else if (d.d_tag == DT_SYMTAB)
			t.symbols = d.d_un.d_ptr;
	}
	return t;
}

/*
 * What a relocation adds to the start of the TLS block. runtime.tlsg may be a dynamic symbol
 * (Debian's dockerd); one that another module defines is not ours.
 */
static int resolve(struct elf_image *image, const struct tables *t, const Elf64_Rela *r,
		   int64_t *offset)
{
	Elf64_Sym symbol = {0};
	int err = 0;

	if (ELF64_R_SYM(r->r_info)) {
		err = elf_image_read(image, t->symbols + ELF64_R_SYM(r->r_info) * sizeof(symbol),
				     &symbol, sizeof(symbol));
		if (!err && (!t->symbols || symbol.st_shndx == SHN_UNDEF ||
			     ELF64_ST_TYPE(symbol.st_info) != STT_TLS))
			err = -EINVAL;
	}
	if (!err)
		*offset = (int64_t)((uint64_t)tls_arch_block_offset(elf_image_get_tls(image)) +
				    symbol.st_value + (uint64_t)r->r_addend);
	return err;
}

/* The thread-local relocation of `place`. The few that are no R_*_RELATIVE stand at the end. */
static int find_relocation(struct elf_image *image, uint64_t place, int64_t *offset)
{
	struct tables tables = find_tables(image);
	Elf64_Rela *entries = malloc(WALK_ENTRIES * sizeof(*entries));
	uint64_t left = tables.relocation_bytes / sizeof(*entries), table = 0;
	int err = entries ? -ENOENT : -ENOMEM;

	if (!tables.relocations || elf_image_offset_of(image, tables.relocations, &table))
		left = 0;
	left = left < MAX_ENTRIES ? left : MAX_ENTRIES;
	while (err == -ENOENT && left) {
		size_t n = left < WALK_ENTRIES ? (size_t)left : WALK_ENTRIES;

		left -= n;
		if (elf_image_read_file(image, table + left * sizeof(*entries), entries,
					n * sizeof(*entries)))
			err = -EINVAL;
		for (size_t i = 0; err == -ENOENT && i < n; i++)
			if (entries[i].r_offset == place &&
			    ELF64_R_TYPE(entries[i].r_info) == tls_arch_relocation)
				err = resolve(image, &tables, &entries[i], offset);
	}
	free(entries);
	return err;
}

static int read_memory(struct elf_image *image, uint64_t place, int64_t *offset)
{
	uint64_t word;
	int err = find_relocation(image, place, offset);

	if (!err)
		return 0;
	/* A static executable has the final value in the file. */
	if (err != -ENOENT || elf_image_read(image, place, &word, sizeof(word)) || !word)
		return -ENOENT;
	*offset = (int64_t)word;
	return 0;
}

int tls_offset_find(struct elf_image *image,
		    const struct go_function_range functions[FUNCTION_COUNT], int32_t *offset)
{
	const struct go_function_range *f = &functions[tls_arch_function];
	uint64_t size = f->end - f->start;
	uint8_t code[MAX_CODE_BYTES];
	struct tls_operand operand;

	if (!f->start || elf_image_machine(image) != tls_arch_machine)
		return -ENOENT;
	if (size > sizeof(code))
		size = sizeof(code);
	if (elf_image_read(image, f->start, code, size) ||
	    tls_arch_decode(code, size, f->start, &operand))
		return -ENOENT;
	if (operand.in_memory && read_memory(image, operand.address, &operand.offset))
		return -ENOENT;
	if (operand.offset & 7 || operand.offset <= -MAX_OFFSET || operand.offset >= MAX_OFFSET)
		return -ENOENT;
	*offset = (int32_t)operand.offset;
	return 0;
}
