/* SPDX-License-Identifier: Apache-2.0 */
/* A small ELF file for tests: two segments, a symbol table, its strings, chosen section names. */
#ifndef TESTS_UNIT_SMALL_ELF_H
#define TESTS_UNIT_SMALL_ELF_H

#include <elf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define SMALL_ELF_BASE	UINT64_C(0x400000)
#define SMALL_ELF_TEXT	UINT64_C(0x401000) /* of SMALL_ELF_TEXT_BYTES */
#define SMALL_ELF_DATA	UINT64_C(0x405000) /* of 0x1000 */
#define SMALL_ELF_BYTES 0x8000

struct small_elf {
	const Elf64_Sym *symbols; /* the first one is to be all zero */
	size_t symbol_count;
	const char *strings;
	size_t strings_size;
	const char *table_name;	  /* ".symtab"; NULL: no section headers at all */
	const char *strings_name; /* ".strtab" */
};

/* Fills SMALL_ELF_BYTES bytes. Text is at file offset 0x1000, data at 0x5000. */
static inline void small_elf_fill(const struct small_elf *from, uint8_t *file)
{
	Elf64_Ehdr header = {
		.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
		.e_type = ET_EXEC,
		.e_machine = EM_X86_64,
		.e_version = EV_CURRENT,
		.e_phoff = sizeof(header),
		.e_ehsize = sizeof(header),
		.e_phentsize = sizeof(Elf64_Phdr),
		.e_phnum = 2,
	};
	Elf64_Phdr segments[2] = {
		{PT_LOAD, PF_R | PF_X, 0, SMALL_ELF_BASE, SMALL_ELF_BASE, 0x5000, 0x5000, 0x1000},
		{PT_LOAD, PF_R | PF_W, 0x5000, SMALL_ELF_DATA, SMALL_ELF_DATA, 0x1000, 0x1000,
		 0x1000},
	};
	Elf64_Shdr sections[4] = {{0}};
	char names[128] = {0};
	size_t names_size = 1;

	memset(file, 0, SMALL_ELF_BYTES);
	if (from->table_name) {
		header.e_shoff = 0x7000;
		header.e_shentsize = sizeof(Elf64_Shdr);
		header.e_shnum = 4;
		header.e_shstrndx = 3;
		sections[1] = (Elf64_Shdr){.sh_name = (Elf64_Word)names_size,
					   .sh_type = SHT_SYMTAB,
					   .sh_offset = 0x2000,
					   .sh_size = from->symbol_count * sizeof(Elf64_Sym)};
		memcpy(names + names_size, from->table_name, strlen(from->table_name));
		names_size += strlen(from->table_name) + 1;
		sections[2] = (Elf64_Shdr){.sh_name = (Elf64_Word)names_size,
					   .sh_type = SHT_STRTAB,
					   .sh_offset = 0x4000,
					   .sh_size = from->strings_size};
		memcpy(names + names_size, from->strings_name, strlen(from->strings_name));
		names_size += strlen(from->strings_name) + 1;
		sections[3] = (Elf64_Shdr){.sh_name = 0,
					   .sh_type = SHT_STRTAB,
					   .sh_offset = 0x6000,
					   .sh_size = sizeof(names)};
		if (from->symbol_count)
			memcpy(file + 0x2000, from->symbols,
			       from->symbol_count * sizeof(Elf64_Sym));
		if (from->strings_size)
			memcpy(file + 0x4000, from->strings, from->strings_size);
		memcpy(file + 0x6000, names, sizeof(names));
		memcpy(file + 0x7000, sections, sizeof(sections));
	}
	memcpy(file, &header, sizeof(header));
	memcpy(file + sizeof(header), segments, sizeof(segments));
}

/* The same as a file in memory; the caller closes the descriptor. */
static inline int small_elf_open(const struct small_elf *from)
{
	uint8_t *file = malloc(SMALL_ELF_BYTES);
	int fd = memfd_create("small_elf", MFD_CLOEXEC);

	small_elf_fill(from, file);
	if (write(fd, file, SMALL_ELF_BYTES) != SMALL_ELF_BYTES) {
		close(fd);
		fd = -1;
	}
	free(file);
	return fd;
}

#endif
