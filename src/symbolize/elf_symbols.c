/* SPDX-License-Identifier: Apache-2.0 */
/* 12 bytes a function are kept; names stay in the file until one is asked for. */
#include "symbolize/elf_symbols.h"

#include <elf.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "gobinary/elf_image.h"

#define SYMBOLS_MAX    200000	 /* kept; 2.4 MB */
#define SCANNED_MAX    (1 << 20) /* looked at; 24 MB of file */
#define CHUNK_SYMBOLS  128
#define ALIASES_MAX    8  /* names of one function that are compared */
#define NESTED_MAX     32 /* functions that may begin between an outer one's start and an address */
#define NAME_BYTES_MAX 512

struct symbol {
	uint32_t address; /* from base */
	uint32_t size;
	uint32_t name; /* offset in the string table */
};

struct elf_symbols {
	struct elf_image *image;
	uint64_t base; /* lowest virtual address */
	uint64_t strings_offset, strings_size;
	uint64_t skip_start, skip_end;
	struct symbol *symbols; /* by address */
	size_t count, capacity;
	char build_id[132];
};

static uint64_t lowest_address(const struct elf_image *image)
{
	uint64_t lowest = UINT64_MAX;

	for (size_t i = 0; i < elf_image_segment_count(image); i++) {
		const struct elf_segment *s = elf_image_get_segment(image, i);

		if (s->address < lowest)
			lowest = s->address;
	}
	return lowest;
}

static bool is_wanted(const struct elf_symbols *s, const Elf64_Sym *symbol)
{
	unsigned int type = ELF64_ST_TYPE(symbol->st_info);

	if (type != STT_FUNC && type != STT_GNU_IFUNC)
		return false;
	if (symbol->st_shndx == SHN_UNDEF || !symbol->st_size || symbol->st_size > UINT32_MAX)
		return false;
	if (symbol->st_name >= s->strings_size || symbol->st_value < s->base ||
	    symbol->st_value - s->base > UINT32_MAX)
		return false;
	return symbol->st_value < s->skip_start || symbol->st_value >= s->skip_end;
}

static int add_symbol(struct elf_symbols *s, const Elf64_Sym *symbol)
{
	if (s->count == s->capacity) {
		size_t capacity = s->capacity ? s->capacity * 2 : 256;
		struct symbol *symbols = reallocarray(s->symbols, capacity, sizeof(*symbols));

		if (!symbols)
			return -ENOMEM;
		s->symbols = symbols;
		s->capacity = capacity;
	}
	s->symbols[s->count++] = (struct symbol){
		.address = (uint32_t)(symbol->st_value - s->base),
		.size = (uint32_t)symbol->st_size,
		.name = symbol->st_name,
	};
	return 0;
}

static Elf64_Sym take_symbol(struct bytes *b)
{
	Elf64_Sym symbol;

	symbol.st_name = bytes_u32(b);
	symbol.st_info = bytes_u8(b);
	symbol.st_other = bytes_u8(b);
	symbol.st_shndx = bytes_u16(b);
	symbol.st_value = bytes_u64(b);
	symbol.st_size = bytes_u64(b);
	return symbol;
}

/* A table that reaches over the end of the file is taken as far as it can be read. */
static int read_table(struct elf_symbols *s, const struct elf_section *table)
{
	uint8_t chunk[CHUNK_SYMBOLS * sizeof(Elf64_Sym)];
	uint64_t left = table->size / sizeof(Elf64_Sym), offset = table->offset;
	int err = 0;

	if (left > SCANNED_MAX)
		left = SCANNED_MAX;
	while (left && s->count < SYMBOLS_MAX) {
		size_t part = left < CHUNK_SYMBOLS ? left : CHUNK_SYMBOLS;
		struct bytes b = bytes_over(chunk, part * sizeof(Elf64_Sym));

		if (elf_image_read_file(s->image, offset, chunk, part * sizeof(Elf64_Sym)))
			return 0;
		while (!err && bytes_left(&b) && s->count < SYMBOLS_MAX) {
			Elf64_Sym symbol = take_symbol(&b);

			if (is_wanted(s, &symbol))
				err = add_symbol(s, &symbol);
		}
		if (err)
			return err;
		left -= part;
		offset += part * sizeof(Elf64_Sym);
	}
	return 0;
}

static int compare_symbols(const void *a, const void *b)
{
	const struct symbol *left = a, *right = b;

	if (left->address != right->address)
		return left->address < right->address ? -1 : 1;
	return left->name < right->name ? -1 : left->name > right->name;
}

static int read_section_pair(struct elf_symbols *s, const char *table_name,
			     const char *strings_name)
{
	struct elf_section table, strings;

	if (elf_image_find_section(s->image, table_name, &table) ||
	    elf_image_find_section(s->image, strings_name, &strings))
		return 0;
	/* Files of debug symbols alone have tables without contents. */
	if (table.type == SHT_NOBITS || strings.type == SHT_NOBITS || strings.offset > INT64_MAX)
		return 0;
	s->strings_offset = strings.offset;
	s->strings_size = strings.size;
	return read_table(s, &table);
}

int elf_symbols_open(int fd, struct block_cache *cache, uint64_t skip_start, uint64_t skip_end,
		     struct elf_symbols **out)
{
	struct elf_symbols *s = calloc(1, sizeof(*s));
	struct symbol *smaller;
	int err;

	if (!s)
		return -ENOMEM;
	err = elf_image_open(fd, cache, &s->image);
	if (err)
		goto out;
	s->base = lowest_address(s->image);
	s->skip_start = skip_start;
	s->skip_end = skip_end;
	err = read_section_pair(s, ".symtab", ".strtab");
	if (!err && !s->count)
		err = read_section_pair(s, ".dynsym", ".dynstr");
	if (err)
		goto out;
	if (s->count) {
		qsort(s->symbols, s->count, sizeof(*s->symbols), compare_symbols);
		smaller = reallocarray(s->symbols, s->count, sizeof(*s->symbols));
		if (smaller) {
			s->symbols = smaller;
			s->capacity = s->count;
		}
	}
	if (elf_image_get_build_id(s->image, s->build_id, sizeof(s->build_id)))
		s->build_id[0] = '\0';
	elf_image_settle(s->image);
	*out = s;
	return 0;
out:
	elf_symbols_close(s);
	return err;
}

void elf_symbols_close(struct elf_symbols *s)
{
	if (!s)
		return;
	elf_image_close(s->image);
	free(s->symbols);
	free(s);
}

size_t elf_symbols_bytes(const struct elf_symbols *s)
{
	return sizeof(*s) + s->capacity * sizeof(*s->symbols);
}

const char *elf_symbols_get_build_id(const struct elf_symbols *s)
{
	return s->build_id;
}

/* Virtual address of a file offset; executable segments win where several hold it. */
static int address_of(const struct elf_symbols *s, uint64_t offset, uint64_t *address)
{
	int err = -ENOENT;

	for (size_t i = 0; i < elf_image_segment_count(s->image); i++) {
		const struct elf_segment *segment = elf_image_get_segment(s->image, i);

		if (offset < segment->offset || offset - segment->offset >= segment->file_size)
			continue;
		if (!err && !(segment->flags & PF_X))
			continue;
		*address = segment->address + (offset - segment->offset);
		err = 0;
	}
	return err;
}

static int read_name(struct elf_symbols *s, uint32_t at, char *name)
{
	uint64_t left = s->strings_size - at;
	size_t size = left < NAME_BYTES_MAX - 1 ? left : NAME_BYTES_MAX - 1;
	int err;

	err = elf_image_read_file(s->image, s->strings_offset + at, name, size);
	if (err)
		return err;
	name[size] = '\0';
	return name[0] ? 0 : -ENOENT;
}

/* Of read, __read and __libc_read people know the first. */
static bool is_better_name(const char *name, const char *than)
{
	size_t bars = strspn(name, "_"), than_bars = strspn(than, "_");

	if (bars != than_bars)
		return bars < than_bars;
	return strlen(name) < strlen(than);
}

/* The best name among the symbols that begin where symbols[index] does and cover `offset`. */
static int pick_name(struct elf_symbols *s, size_t index, uint32_t offset, char *to, size_t size)
{
	char name[NAME_BYTES_MAX], best[NAME_BYTES_MAX];
	uint32_t start = s->symbols[index].address;
	bool found = false;

	for (size_t tries = 0; tries < ALIASES_MAX && s->symbols[index].address == start; tries++) {
		if (offset - start < s->symbols[index].size &&
		    !read_name(s, s->symbols[index].name, name) &&
		    (!found || is_better_name(name, best))) {
			memcpy(best, name, strlen(name) + 1);
			found = true;
		}
		if (!index--)
			break;
	}
	if (!found || !size)
		return -ENOENT;
	to[0] = '\0';
	strncat(to, best, size - 1);
	return 0;
}

int elf_symbols_find(struct elf_symbols *s, uint64_t file_offset, char *name, size_t size)
{
	size_t low = 0, high = s->count;
	uint64_t address;
	uint32_t offset;

	if (address_of(s, file_offset, &address) || address < s->base ||
	    address - s->base > UINT32_MAX)
		return -ENOENT;
	offset = (uint32_t)(address - s->base);
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (s->symbols[middle].address <= offset)
			low = middle + 1;
		else
			high = middle;
	}
	for (size_t tries = 0; low && tries < NESTED_MAX; tries++, low--)
		if (offset - s->symbols[low - 1].address < s->symbols[low - 1].size)
			return pick_name(s, low - 1, offset, name, size);
	return -ENOENT;
}
