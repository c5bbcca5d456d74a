/* SPDX-License-Identifier: Apache-2.0 */
/* Where the program-counter table lies, and its header. */
#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "gobinary/pclntab_private.h"

/* More than a cache block, so that the scan goes past the cache. */
#define SCAN_BYTES ((size_t)262144)
/* A sparse or overlapping foreign file must not keep the loader busy for hours. */
#define SCAN_MAX     ((uint64_t)1 << 30)
#define HEADER_BYTES 72

/* Go counts its formats by magic number; what differs is in pclntab_private.h. */
static int format_of(uint32_t magic, enum pclntab_format *format)
{
	switch (magic) {
	case 0xfffffffb:
		*format = PCLNTAB_GO_1_2;
		return 0;
	case 0xfffffffa:
		*format = PCLNTAB_GO_1_16;
		return 0;
	case 0xfffffff0:
		*format = PCLNTAB_GO_1_18;
		return 0;
	case 0xfffffff1:
		*format = PCLNTAB_GO_1_20;
		return 0;
	}
	return -EINVAL;
}

/* The offsets of 1.16 and newer: five regions, one behind the other. */
static int read_regions(struct bytes *b, uint64_t address, struct pclntab_header *h)
{
	uint64_t *regions[] = {&h->names, &h->compilation_units, &h->files, &h->pc_tables,
			       &h->functions};
	uint64_t before = address;

	for (size_t i = 0; i < sizeof(regions) / sizeof(*regions); i++) {
		uint64_t offset = bytes_u64(b);

		if (offset > h->limit - address)
			return -EINVAL;
		*regions[i] = address + offset;
		if (*regions[i] <= before)
			return -EINVAL;
		before = *regions[i];
	}
	h->function_table = h->functions;
	return 0;
}

/* Up to 1.15 every offset is from the table's start, and the file table is named at its end. */
static int read_go_1_2(struct elf_image *image, uint64_t address, struct pclntab_header *h)
{
	uint64_t end = address + 16 + h->function_count * 16 + 8;
	uint32_t files;

	h->names = h->compilation_units = h->pc_tables = h->functions = address;
	h->function_table = address + 16;
	if (end > h->limit || elf_image_read(image, end, &files, sizeof(files)) ||
	    files > h->limit - address)
		return -EINVAL;
	h->files = address + files;
	return 0;
}

int pclntab_read_header(struct elf_image *image, uint64_t address, struct pclntab_header *out)
{
	struct pclntab_header h = {.limit = 0};
	uint8_t raw[HEADER_BYTES];
	uint64_t entry_bytes;
	struct bytes b;
	int err;

	for (size_t i = 0; i < elf_image_segment_count(image); i++) {
		const struct elf_segment *s = elf_image_get_segment(image, i);

		if (address >= s->address && address - s->address < s->file_size)
			h.limit = s->address + s->file_size;
	}
	if (h.limit < HEADER_BYTES || address > h.limit - HEADER_BYTES ||
	    elf_image_read(image, address, raw, sizeof(raw)))
		return -EINVAL;
	b = bytes_over(raw, sizeof(raw));
	if (format_of(bytes_u32(&b), &h.format) || bytes_u16(&b))
		return -EINVAL;
	/* Instruction alignment: 1 on x86-64, 4 on arm64. */
	h.quantum = bytes_u8(&b);
	if ((h.quantum != 1 && h.quantum != 2 && h.quantum != 4) || bytes_u8(&b) != 8)
		return -EINVAL;
	h.function_count = bytes_u64(&b);
	entry_bytes = h.format >= PCLNTAB_GO_1_18 ? 8 : 16;
	if (!h.function_count || h.function_count > PCLNTAB_MAX_FUNCTIONS)
		return -EINVAL;
	if (h.format == PCLNTAB_GO_1_2) {
		err = read_go_1_2(image, address, &h);
	} else {
		bytes_skip(&b, h.format >= PCLNTAB_GO_1_18 ? 16 : 8); /* nfiles, textStart */
		err = read_regions(&b, address, &h);
	}
	if (err)
		return err;
	/* All entries and the end of text behind them. */
	if ((h.limit - h.function_table) / entry_bytes <= h.function_count)
		return -EINVAL;
	*out = h;
	return 0;
}

/* The linker aligns the table to 8 bytes at least (32 up to 1.25). */
static int scan_segment(struct elf_image *image, const struct elf_segment *s, uint8_t *scratch,
			uint64_t *budget_bytes, uint64_t *address)
{
	uint64_t at = (s->address + 7) & ~7ull, end = s->address + s->file_size;

	while (at < end && end - at >= HEADER_BYTES) {
		size_t size = end - at < SCAN_BYTES ? (size_t)(end - at) & ~(size_t)7 : SCAN_BYTES;

		if (size > *budget_bytes ||
		    elf_image_read_file(image, s->offset + (at - s->address), scratch, size))
			return -ENOENT;
		*budget_bytes -= size;
		for (size_t i = 0; i < size; i += 8) {
			struct pclntab_header header;
			uint64_t word;

			memcpy(&word, scratch + i, sizeof(word));
			/* magic, 0, 0, quantum, pointer size 8 */
			if ((word & 0xff00fffffffffff0) != 0x08000000fffffff0 ||
			    pclntab_read_header(image, at + i, &header))
				continue;
			*address = at + i;
			return 0;
		}
		at += size;
	}
	return -ENOENT;
}

/*
 * External linking of a PIE up to 1.25 leaves no section of its own. Constants are the likely place
 * (read-only, then relocated), code the last.
 */
static int scan_image(struct elf_image *image, uint64_t *address)
{
	static const uint32_t order[] = {PF_R, PF_R | PF_W, PF_R | PF_X};
	uint8_t *scratch = malloc(SCAN_BYTES);
	uint64_t budget_bytes = SCAN_MAX;
	int err = -ENOENT;

	if (!scratch)
		return -ENOMEM;
	for (size_t o = 0; err && o < sizeof(order) / sizeof(*order); o++)
		for (size_t i = 0; err && i < elf_image_segment_count(image); i++) {
			const struct elf_segment *s = elf_image_get_segment(image, i);

			if ((s->flags & (PF_R | PF_W | PF_X)) == order[o])
				err = scan_segment(image, s, scratch, &budget_bytes, address);
		}
	free(scratch);
	return err;
}

int pclntab_find(struct elf_image *image, uint64_t *address)
{
	static const char *const names[] = {".gopclntab", ".data.rel.ro.gopclntab"};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		struct pclntab_header header;
		struct elf_section s;

		/* A section that lies is no reason to give up. */
		if (elf_image_find_section(image, names[i], &s) ||
		    pclntab_read_header(image, s.address, &header))
			continue;
		*address = s.address;
		return 0;
	}
	return scan_image(image, address);
}
