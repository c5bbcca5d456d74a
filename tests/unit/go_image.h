/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A little Go executable made in memory: a text and a data segment, type descriptors, pclntab and
 * moduledata as the linker writes them. A PIE keeps its pointers in relocations alone.
 */
#ifndef UNIT_GO_IMAGE_H
#define UNIT_GO_IMAGE_H

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define GO_IMAGE_BASE	   0x400000ull
#define GO_IMAGE_TEXT	   0x400400ull
#define GO_IMAGE_TEXT_END  0x401000ull
#define GO_IMAGE_DATA	   0x401000ull /* types first */
#define GO_IMAGE_TYPES_END 0x402000ull
#define GO_IMAGE_PCLNTAB   0x402000ull
#define GO_IMAGE_MODULE	   0x403000ull
#define GO_IMAGE_DYNAMIC   0x403200ull
#define GO_IMAGE_RELA	   0x403280ull
#define GO_IMAGE_ITABS	   0x404800ull
#define GO_IMAGE_LINKS	   0x404c00ull /* addresses of interface tables */
#define GO_IMAGE_VARIABLES 0x405000ull
#define GO_IMAGE_END	   0x405800ull

#define GO_MAGIC_1_2  0xfffffffbu
#define GO_MAGIC_1_16 0xfffffffau
#define GO_MAGIC_1_18 0xfffffff0u
#define GO_MAGIC_1_20 0xfffffff1u

/* Unlike assert(), also in a build with NDEBUG. */
#define GO_IMAGE_CHECK(condition)                                                                  \
	do {                                                                                       \
		if (!(condition))                                                                  \
			abort();                                                                   \
	} while (0)

#define GO_IMAGE_MAX_FUNCTIONS 32
#define GO_IMAGE_MAX_NAMES     64
/* Regions of the synthetic pclntab, from its start. */
#define GO_IMAGE_FUNCNAMES 0x80
#define GO_IMAGE_CUTAB	   0x800
#define GO_IMAGE_FILETAB   0x810
#define GO_IMAGE_PCTAB	   0x820
#define GO_IMAGE_FUNCTIONS 0x830

struct go_image {
	uint8_t data[GO_IMAGE_END - GO_IMAGE_BASE];
	bool pie;
	uint64_t types;	   /* what name offsets count from */
	uint64_t types_at; /* next free byte of the types */
	uint64_t relocations;
	uint64_t itabs_at; /* next free byte of the interface tables */
	size_t itab_count;
	size_t name_count;
	struct {
		const char *text;
		uint64_t address;
	} names[GO_IMAGE_MAX_NAMES];
	size_t function_count;
	struct {
		const char *name;
		uint64_t entry;
		uint8_t flags, id;
	} functions[GO_IMAGE_MAX_FUNCTIONS];
	uint64_t text_at;
};

struct go_image_field {
	const char *name;
	uint64_t type, offset;
};

static inline void go_image_put(struct go_image *m, uint64_t address, const void *data, size_t size)
{
	GO_IMAGE_CHECK(address >= GO_IMAGE_BASE && address + size <= GO_IMAGE_END);
	memcpy(m->data + (address - GO_IMAGE_BASE), data, size);
}

static inline void go_image_put32(struct go_image *m, uint64_t address, uint32_t value)
{
	go_image_put(m, address, &value, sizeof(value));
}

static inline void go_image_put64(struct go_image *m, uint64_t address, uint64_t value)
{
	go_image_put(m, address, &value, sizeof(value));
}

/* A pointer: in a PIE the place itself stays 0. */
static inline void go_image_put_pointer(struct go_image *m, uint64_t address, uint64_t value)
{
	Elf64_Rela r = {.r_offset = address, .r_addend = (Elf64_Sxword)value};

	if (!m->pie) {
		go_image_put64(m, address, value);
		return;
	}
#if defined(__aarch64__)
	r.r_info = ELF64_R_INFO(0, R_AARCH64_RELATIVE);
#else
	r.r_info = ELF64_R_INFO(0, R_X86_64_RELATIVE);
#endif
	GO_IMAGE_CHECK(GO_IMAGE_RELA + (m->relocations + 1) * sizeof(r) <= GO_IMAGE_ITABS);
	go_image_put(m, GO_IMAGE_RELA + m->relocations++ * sizeof(r), &r, sizeof(r));
}

static inline void go_image_put_dynamic(struct go_image *m)
{
	const Elf64_Dyn d[] = {
		{.d_tag = DT_RELA, .d_un.d_ptr = GO_IMAGE_RELA},
		{.d_tag = DT_RELASZ, .d_un.d_val = m->relocations * sizeof(Elf64_Rela)},
		{.d_tag = DT_RELAENT, .d_un.d_val = sizeof(Elf64_Rela)},
		{.d_tag = DT_NULL},
	};

	go_image_put(m, GO_IMAGE_DYNAMIC, d, sizeof(d));
}

static inline void go_image_open(struct go_image *m, bool pie)
{
	Elf64_Ehdr e = {
		.e_type = pie ? ET_DYN : ET_EXEC,
		.e_version = 1,
		.e_phoff = sizeof(e),
		.e_ehsize = sizeof(e),
		.e_phentsize = sizeof(Elf64_Phdr),
		.e_phnum = pie ? 3 : 2,
	};
	Elf64_Phdr p[] = {
		{.p_type = PT_LOAD, .p_flags = PF_R | PF_X, .p_vaddr = GO_IMAGE_BASE},
		{.p_type = PT_LOAD, .p_flags = PF_R | PF_W, .p_vaddr = GO_IMAGE_DATA},
		{.p_type = PT_DYNAMIC, .p_flags = PF_R | PF_W, .p_vaddr = GO_IMAGE_DYNAMIC},
	};

	memset(m, 0, sizeof(*m));
	m->pie = pie;
	m->types = GO_IMAGE_DATA;
	m->types_at = GO_IMAGE_DATA + 8;
	m->text_at = GO_IMAGE_TEXT;
	m->itabs_at = GO_IMAGE_ITABS;
#if defined(__aarch64__)
	e.e_machine = EM_AARCH64;
#else
	e.e_machine = EM_X86_64;
#endif
	memcpy(e.e_ident, ELFMAG, SELFMAG);
	e.e_ident[EI_CLASS] = ELFCLASS64;
	e.e_ident[EI_DATA] = ELFDATA2LSB;
	e.e_ident[EI_VERSION] = EV_CURRENT;
	p[0].p_filesz = p[0].p_memsz = GO_IMAGE_TEXT_END - GO_IMAGE_BASE;
	p[1].p_filesz = p[1].p_memsz = GO_IMAGE_END - GO_IMAGE_DATA;
	p[1].p_offset = GO_IMAGE_DATA - GO_IMAGE_BASE;
	p[2].p_filesz = p[2].p_memsz = 4 * sizeof(Elf64_Dyn);
	p[2].p_offset = GO_IMAGE_DYNAMIC - GO_IMAGE_BASE;
	go_image_put(m, GO_IMAGE_BASE, &e, sizeof(e));
	go_image_put(m, GO_IMAGE_BASE + sizeof(e), p, sizeof(p));
}

/* The image as a file of its own. */
static inline int go_image_file(const struct go_image *m)
{
	int fd = memfd_create("go_image", MFD_CLOEXEC);

	GO_IMAGE_CHECK(fd >= 0);
	GO_IMAGE_CHECK(write(fd, m->data, sizeof(m->data)) == (ssize_t)sizeof(m->data));
	return fd;
}

/*
 * A name: flags, length, text; `old` is Go 1.16's two-byte length. Returns its address, for a text
 * added before the same one, as the linker does.
 */
static inline uint64_t go_image_add_name(struct go_image *m, const char *text, bool old)
{
	uint8_t head[3] = {0};
	uint64_t at = m->types_at;
	size_t size = strlen(text), skip = 2;

	for (size_t i = 0; i < m->name_count; i++)
		if (!strcmp(m->names[i].text, text))
			return m->names[i].address;
	GO_IMAGE_CHECK(m->name_count < GO_IMAGE_MAX_NAMES);
	m->names[m->name_count].text = text;
	m->names[m->name_count++].address = at;

	if (old || size > 127)
		skip = 3;
	if (old)
		head[2] = (uint8_t)size;
	else
		head[1] = size > 127 ? (size & 0x7f) | 0x80 : (uint8_t)size;
	if (!old && size > 127)
		head[2] = (uint8_t)(size >> 7);
	go_image_put(m, at, head, skip);
	go_image_put(m, at + skip, text, size);
	m->types_at = (at + skip + size + 7) & ~7ull;
	return at;
}

/* A descriptor with the given kind; returns its address, at which `size` bytes are free. */
static inline uint64_t go_image_add_type(struct go_image *m, uint8_t kind, uint8_t tflag,
					 uint64_t name, uint64_t type_size, size_t size)
{
	uint64_t at = m->types_at;

	go_image_put64(m, at, type_size);
	go_image_put(m, at + 20, &tflag, 1);
	go_image_put(m, at + 23, &kind, 1);
	go_image_put32(m, at + 40, name ? (uint32_t)(name - m->types) : 0);
	m->types_at = (at + size + 7) & ~7ull;
	return at;
}

/*
 * A named structure with its package, `shift` 1 for the field words of Go 1.18 and before; the
 * pointer to it follows in `*pointer` when not NULL.
 */
static inline uint64_t go_image_add_struct(struct go_image *m, const char *star_name,
					   const char *package, uint64_t size,
					   const struct go_image_field *fields, size_t count,
					   unsigned int shift, bool old, uint64_t *pointer)
{
	uint64_t name = star_name ? go_image_add_name(m, star_name, old) : 0;
	uint64_t path = package ? go_image_add_name(m, package, old) : 0;
	uint64_t names[32] = {0}, at, array;

	GO_IMAGE_CHECK(count <= 32);
	for (size_t i = 0; i < count; i++)
		names[i] = go_image_add_name(m, fields[i].name, old);
	array = m->types_at;
	m->types_at += count * 24;
	/* tflag: uncommon, extra star, named */
	at = go_image_add_type(m, 25, package ? 7 : 0, name, size, 96);
	go_image_put_pointer(m, at + 56, array);
	go_image_put64(m, at + 64, count);
	go_image_put64(m, at + 72, count);
	if (path)
		go_image_put32(m, at + 80, (uint32_t)(path - m->types));
	for (size_t i = 0; i < count; i++) {
		go_image_put_pointer(m, array + i * 24, names[i]);
		go_image_put_pointer(m, array + i * 24 + 8, fields[i].type);
		go_image_put64(m, array + i * 24 + 16, fields[i].offset << shift);
	}
	if (pointer) {
		/* kind: pointer, and the "direct interface" bit of Go 1.23 and before */
		*pointer = go_image_add_type(m, 22 | 1 << 5, 0, name, 8, 56);
		go_image_put_pointer(m, *pointer + 48, at);
	}
	return at;
}

/* A named interface of so many methods, which are not described. */
static inline uint64_t go_image_add_interface(struct go_image *m, const char *star_name,
					      const char *package, uint64_t methods)
{
	uint64_t name = go_image_add_name(m, star_name, false);
	uint64_t path = go_image_add_name(m, package, false);
	uint64_t at = go_image_add_type(m, 20, 7, name, 16, 96);

	go_image_put64(m, at + 64, methods);
	go_image_put64(m, at + 72, methods);
	go_image_put32(m, at + 80, (uint32_t)(path - m->types));
	return at;
}

/* Tables lie one behind the other; their addresses in a list of their own. */
static inline uint64_t go_image_add_itab(struct go_image *m, uint64_t interface, uint64_t type,
					 uint64_t methods)
{
	uint64_t at = m->itabs_at, link = GO_IMAGE_LINKS + 8 * m->itab_count++;

	m->itabs_at += 24 + 8 * (methods ? methods : 1);
	GO_IMAGE_CHECK(m->itabs_at <= GO_IMAGE_LINKS && link < GO_IMAGE_VARIABLES);
	go_image_put_pointer(m, at, interface);
	go_image_put_pointer(m, at + 8, type);
	go_image_put_pointer(m, link, at);
	return at;
}

/* Functions lie in the order of the calls, 16-aligned, int3 between them. Returns the entry. */
static inline uint64_t go_image_add_function(struct go_image *m, const char *name, uint8_t flags,
					     const void *code, size_t size)
{
	uint64_t at = m->text_at;

	GO_IMAGE_CHECK(m->function_count < GO_IMAGE_MAX_FUNCTIONS);
	GO_IMAGE_CHECK(at + size <= GO_IMAGE_TEXT_END);
	m->functions[m->function_count].name = name;
	m->functions[m->function_count].entry = at;
	m->functions[m->function_count++].flags = flags;
	go_image_put(m, at, code, size);
	m->text_at = (at + size + 15) & ~15ull;
	memset(m->data + (at + size - GO_IMAGE_BASE), 0xcc, m->text_at - at - size);
	return at;
}

/* pclntab of Go 1.20 and newer over the functions added; the last one ends at text_at. */
static inline void go_image_put_pclntab(struct go_image *m)
{
	uint64_t names = GO_IMAGE_PCLNTAB + GO_IMAGE_FUNCNAMES, name = 1;
	uint64_t table = GO_IMAGE_PCLNTAB + GO_IMAGE_FUNCTIONS;
	uint64_t function = m->function_count * 8 + 8;
	const uint64_t header[] = {m->function_count, 1,
				   GO_IMAGE_TEXT,     GO_IMAGE_FUNCNAMES,
				   GO_IMAGE_CUTAB,    GO_IMAGE_FILETAB,
				   GO_IMAGE_PCTAB,    GO_IMAGE_FUNCTIONS};

	go_image_put32(m, GO_IMAGE_PCLNTAB, GO_MAGIC_1_20);
	go_image_put(m, GO_IMAGE_PCLNTAB + 6, "\1\10", 2);
	go_image_put(m, GO_IMAGE_PCLNTAB + 8, header, sizeof(header));
	for (size_t i = 0; i < m->function_count; i++) {
		size_t size = strlen(m->functions[i].name) + 1;
		uint32_t entry = (uint32_t)(m->functions[i].entry - GO_IMAGE_TEXT);

		GO_IMAGE_CHECK(GO_IMAGE_FUNCNAMES + name + size < GO_IMAGE_CUTAB);
		go_image_put(m, names + name, m->functions[i].name, size);
		go_image_put32(m, table + 8 * i, entry);
		go_image_put32(m, table + 8 * i + 4, (uint32_t)function);
		go_image_put32(m, table + function, entry);
		go_image_put32(m, table + function + 4, (uint32_t)name);
		go_image_put(m, table + function + 40, &m->functions[i].id, 1);
		go_image_put(m, table + function + 41, &m->functions[i].flags, 1);
		name += size;
		function += 48;
	}
	go_image_put32(m, table + 8 * m->function_count, (uint32_t)(m->text_at - GO_IMAGE_TEXT));
}

/* moduledata of Go 1.20 to 1.25. */
static inline void go_image_put_module(struct go_image *m)
{
	static const uint64_t regions[] = {GO_IMAGE_FUNCNAMES, GO_IMAGE_CUTAB, GO_IMAGE_FILETAB,
					   GO_IMAGE_PCTAB, GO_IMAGE_FUNCTIONS};

	go_image_put_pointer(m, GO_IMAGE_MODULE, GO_IMAGE_PCLNTAB);
	for (size_t i = 0; i < 5; i++)
		go_image_put_pointer(m, GO_IMAGE_MODULE + 8 * (1 + 3 * i),
				     GO_IMAGE_PCLNTAB + regions[i]);
	go_image_put_pointer(m, GO_IMAGE_MODULE + 8 * 22, GO_IMAGE_TEXT);
	go_image_put_pointer(m, GO_IMAGE_MODULE + 8 * 23, m->text_at);
	go_image_put_pointer(m, GO_IMAGE_MODULE + 8 * 26, GO_IMAGE_VARIABLES);
	go_image_put_pointer(m, GO_IMAGE_MODULE + 8 * 29, GO_IMAGE_END);
	go_image_put_pointer(m, GO_IMAGE_MODULE + 8 * 37, GO_IMAGE_DATA);
	go_image_put_pointer(m, GO_IMAGE_MODULE + 8 * 38, GO_IMAGE_TYPES_END);
	go_image_put_pointer(m, GO_IMAGE_MODULE + 8 * 39, GO_IMAGE_DATA);
	go_image_put_pointer(m, GO_IMAGE_MODULE + 8 * 47, GO_IMAGE_LINKS);
	go_image_put64(m, GO_IMAGE_MODULE + 8 * 48, m->itab_count);
	go_image_put64(m, GO_IMAGE_MODULE + 8 * 49, m->itab_count);
	if (m->pie)
		go_image_put_dynamic(m);
}

#endif
