/* SPDX-License-Identifier: Apache-2.0 */
/* Composes small ELF files in memory for the tests of gobinary. */
#ifndef TESTS_ELF_FILE_H
#define TESTS_ELF_FILE_H

#include <elf.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/bytes.h"

/* Fixed places, relative to `base`, so that contents can point at each other. */
#define ELF_FILE_CONSTANTS 0x1000   /* read-only segment */
#define ELF_FILE_DATA	   0x100000 /* writable segment, followed by `bss` zero bytes */
#define ELF_FILE_DYNAMIC   0x200000 /* PT_DYNAMIC, then the relocations */
#define ELF_FILE_CAP	   ((size_t)8 << 20)
#define ELF_FILE_SECTIONS  4

struct elf_file {
	uint64_t base; /* 0: a PIE */
	uint64_t bss;
	struct buffer constants, data, relocations, note;
	struct {
		const char *name;
		uint64_t address, size;
	} sections[ELF_FILE_SECTIONS]; /* section headers only when one is named */
};

static inline void elf_file_open(struct elf_file *f, uint64_t base)
{
	memset(f, 0, sizeof(*f));
	f->base = base;
	buffer_open(&f->constants, ELF_FILE_CAP);
	buffer_open(&f->data, ELF_FILE_CAP);
	buffer_open(&f->relocations, ELF_FILE_CAP);
	buffer_open(&f->note, ELF_FILE_CAP);
}

static inline void elf_file_close(struct elf_file *f)
{
	buffer_close(&f->constants);
	buffer_close(&f->data);
	buffer_close(&f->relocations);
	buffer_close(&f->note);
}

static inline void add_u8(struct buffer *b, uint8_t value)
{
	buffer_add(b, &value, sizeof(value));
}

static inline void add_u16(struct buffer *b, uint16_t value)
{
	buffer_add(b, &value, sizeof(value));
}

static inline void add_u32(struct buffer *b, uint32_t value)
{
	buffer_add(b, &value, sizeof(value));
}

static inline void add_u64(struct buffer *b, uint64_t value)
{
	buffer_add(b, &value, sizeof(value));
}

static inline void add_align(struct buffer *b, size_t alignment)
{
	while (b->size % alignment)
		add_u8(b, 0);
}

static inline void elf_file_relocate(struct elf_file *f, uint64_t place, uint64_t addend)
{
	Elf64_Rela r = {place, ELF64_R_INFO(0, R_X86_64_RELATIVE), (int64_t)addend};

	buffer_add(&f->relocations, &r, sizeof(r));
}

static inline void elf_file_add_note(struct elf_file *f, const char *owner, uint32_t type,
				     const void *content, uint32_t size)
{
	uint32_t name_size = (uint32_t)strlen(owner) + 1;

	/* Go pads the name's size itself. */
	name_size = (name_size + 3) & ~3u;
	add_u32(&f->note, name_size);
	add_u32(&f->note, size);
	add_u32(&f->note, type);
	buffer_add(&f->note, owner, strlen(owner));
	add_u8(&f->note, 0);
	add_align(&f->note, 4);
	buffer_add(&f->note, content, size);
	add_align(&f->note, 4);
}

/* Appends contents 4096-aligned and names them by a program header. */
static inline void elf_file_add_segment(struct buffer *out, Elf64_Phdr *p, uint32_t type,
					uint32_t flags, uint64_t address,
					const struct buffer *contents, uint64_t more_memory)
{
	add_align(out, 4096);
	*p = (Elf64_Phdr){
		.p_type = type,
		.p_flags = flags,
		.p_offset = out->size,
		.p_vaddr = address,
		.p_filesz = contents->size,
		.p_memsz = contents->size + more_memory,
	};
	buffer_add(out, contents->data, contents->size);
}

static inline void elf_file_add_dynamic(struct elf_file *f, struct buffer *out, Elf64_Phdr *p)
{
	uint64_t address = f->base + ELF_FILE_DYNAMIC;
	Elf64_Dyn d[4] = {
		{.d_tag = DT_RELA, .d_un.d_ptr = address + sizeof(d)},
		{.d_tag = DT_RELASZ, .d_un.d_val = f->relocations.size},
		{.d_tag = DT_RELAENT, .d_un.d_val = sizeof(Elf64_Rela)},
		{.d_tag = DT_NULL},
	};
	struct buffer all;

	buffer_open(&all, ELF_FILE_CAP);
	buffer_add(&all, d, sizeof(d));
	buffer_add(&all, f->relocations.data, f->relocations.size);
	elf_file_add_segment(out, &p[0], PT_LOAD, PF_R, address, &all, 0);
	p[1] = p[0];
	p[1].p_type = PT_DYNAMIC;
	p[1].p_filesz = sizeof(d);
	buffer_close(&all);
}

static inline void elf_file_add_sections(struct elf_file *f, struct buffer *out, Elf64_Ehdr *e)
{
	Elf64_Shdr s[ELF_FILE_SECTIONS + 2] = {{0}};
	size_t names = out->size, count = 1;

	add_u8(out, 0);
	for (size_t i = 0; i < ELF_FILE_SECTIONS && f->sections[i].name; i++, count++) {
		s[count].sh_name = (uint32_t)(out->size - names);
		s[count].sh_type = SHT_PROGBITS;
		s[count].sh_addr = f->sections[i].address;
		s[count].sh_size = f->sections[i].size;
		buffer_add(out, f->sections[i].name, strlen(f->sections[i].name) + 1);
	}
	if (count == 1)
		return;
	s[count].sh_type = SHT_STRTAB;
	s[count].sh_offset = names;
	s[count].sh_size = out->size - names;
	add_align(out, 8);
	e->e_shoff = out->size;
	e->e_shentsize = sizeof(*s);
	e->e_shnum = (uint16_t)(count + 1);
	e->e_shstrndx = (uint16_t)count;
	buffer_add(out, s, (count + 1) * sizeof(*s));
}

/* The file's bytes; the caller closes the buffer. */
static inline void elf_file_compose(struct elf_file *f, struct buffer *out)
{
	Elf64_Phdr p[6] = {{0}};
	uint16_t count = 2;
	Elf64_Ehdr e = {
		.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
		.e_type = f->base ? ET_EXEC : ET_DYN,
		.e_machine = EM_X86_64,
		.e_phoff = sizeof(e),
		.e_phentsize = sizeof(*p),
	};

	buffer_open(out, ELF_FILE_CAP);
	buffer_add(out, &e, sizeof(e));
	buffer_add(out, p, sizeof(p));
	elf_file_add_segment(out, &p[0], PT_LOAD, PF_R, f->base + ELF_FILE_CONSTANTS, &f->constants,
			     0);
	elf_file_add_segment(out, &p[1], PT_LOAD, PF_R | PF_W, f->base + ELF_FILE_DATA, &f->data,
			     f->bss);
	if (f->relocations.size) {
		elf_file_add_dynamic(f, out, &p[count]);
		count += 2;
	}
	if (f->note.size)
		elf_file_add_segment(out, &p[count++], PT_NOTE, PF_R, 0, &f->note, 0);
	elf_file_add_sections(f, out, &e);
	e.e_phnum = count;
	assert_false(out->failed);
	memcpy(out->data, &e, sizeof(e));
	memcpy(out->data + sizeof(e), p, sizeof(p));
}

static inline int memory_file(const void *data, size_t size)
{
	int fd = memfd_create("test", MFD_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, data, size), (ssize_t)size);
	return fd;
}

static inline int elf_file_write(struct elf_file *f)
{
	struct buffer out;
	int fd;

	elf_file_compose(f, &out);
	fd = memory_file(out.data, out.size);
	buffer_close(&out);
	return fd;
}

#endif
