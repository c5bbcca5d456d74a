/* SPDX-License-Identifier: Apache-2.0 */
/*
 * go_table.h's table, whose main.main gets a larger frame, arguments, pointer maps and stack
 * objects, in a file of its own.
 */
#ifndef UNIT_FRAME_TABLE_H
#define UNIT_FRAME_TABLE_H

#include <stdio.h>

#include "go_table.h"
#include "gobinary/block_cache.h"
#include "gobinary/elf_image.h"
#include "gobinary/moduledata.h"
#include "gobinary/pclntab.h"

#define BASE	    0x400000ull
#define FRAME_BYTES 88
#define ARGS_BYTES  40
#define LOCAL_BITS  9
#define MAPS	    3
/* Places in main.main, each at an end of its range: no map, map 1, map 2, one that is not there. */
#define ENTRY_PC  0x1f
#define FIRST_PC  0x3f
#define SECOND_PC 0xef
#define BEYOND_PC 0xf0

/* What a test changes; the rest of the table is go_table.h's. */
struct plan {
	enum go_table_version version;
	bool pie, arm64;
	int32_t frame_bytes, args_bytes, map_count, local_bits;
	bool no_maps;
	uint64_t objects; /* of those that the table is said to have */
	size_t steps;	  /* pairs of them that lead nowhere in the table of map indexes */
};

struct fixture {
	struct plan plan;
	struct elf_file file;
	struct go_table table;
	struct block_cache *cache;
	struct elf_image *image;
	struct pclntab *pclntab;
	uint64_t text, contents;
	struct buffer *b; /* what of the file holds the table */
	struct buffer image_bytes;
};

static inline struct plan plan_of(enum go_table_version version, bool pie, bool arm64)
{
	return (struct plan){
		.version = version,
		.pie = pie,
		.arm64 = arm64,
		.frame_bytes = FRAME_BYTES,
		.args_bytes = ARGS_BYTES,
		.map_count = MAPS,
		.local_bits = LOCAL_BITS,
		.objects = 3,
	};
}

/* Bitmaps of 4 arguments and of 9 variables. */
static inline uint64_t add_maps(struct fixture *x, int32_t count, int32_t bits,
				const uint16_t *maps)
{
	uint64_t address;

	add_align(x->b, 4);
	address = x->contents + x->b->size;
	add_u32(x->b, (uint32_t)count);
	add_u32(x->b, (uint32_t)bits);
	for (size_t i = 0; i < MAPS; i++)
		buffer_add(x->b, &maps[i], bits > 8 ? 2 : 1);
	return address;
}

/* An argument, then two variables, 48 and 24 bytes below where variables end. */
static inline uint64_t add_stack_objects(struct fixture *x)
{
	static const int32_t offsets[] = {24, -48, -24};
	uint64_t address;

	add_align(x->b, 8);
	address = x->contents + x->b->size;
	add_u64(x->b, x->plan.objects);
	for (size_t i = 0; i < 3; i++) {
		add_u32(x->b, (uint32_t)offsets[i]);
		add_u32(x->b, 24);
		add_u64(x->b, 24);
	}
	return address;
}

/* Its offset from the region of pc tables, which only a header from 1.16 on tells. */
static inline uint32_t pc_table_offset(struct fixture *x)
{
	size_t table = (size_t)(x->table.address - x->contents);
	uint64_t region = 0;

	if (x->plan.version >= GO_TABLE_1_16)
		memcpy(&region, x->b->data + table + (x->plan.version >= GO_TABLE_1_18 ? 56 : 48),
		       8);
	return (uint32_t)(x->b->size - table - region);
}

/* A pointer of main.main's funcdata; ld leaves the word of a relocated one 0. */
static inline void put_funcdata(struct fixture *x, size_t at, uint64_t address)
{
	if (x->plan.version >= GO_TABLE_1_18) {
		patch(x->b, at, address - x->table.inlining, 4);
	} else if (!x->plan.pie) {
		patch(x->b, at, address, 8);
	} else {
		elf_file_relocate(&x->file, x->contents + at, address);
	}
}

/* Gives main.main a larger frame, arguments and maps. */
static inline void add_liveness(struct fixture *x)
{
	/* By map: none at the entry; variables 0 and 8, then 3 and 4. */
	static const uint16_t locals[] = {0, 0x101, 0x18}, arguments[] = {0xb, 5, 2};
	static const size_t fixed_bytes[] = {40, 44, 44, 40, 44};
	bool wide = x->plan.version < GO_TABLE_1_18;
	size_t entry_bytes = wide ? 8 : 4, table, function, pcdata, funcdata;
	uint32_t offset, sizes, indexes;

	table = (size_t)(x->table.function_table - x->contents);
	memcpy(&offset, x->b->data + table + entry_bytes, sizeof(offset));
	function =
		x->plan.version == GO_TABLE_1_15 ? (size_t)(x->table.address - x->contents) : table;
	function += offset;
	pcdata = function + fixed_bytes[x->plan.version];
	funcdata = wide ? (pcdata + 12 + 7) & ~(size_t)7 : pcdata + 12;
	sizes = pc_table_offset(x);
	add_pair(x->b, 1, 4);
	add_pair(x->b, x->plan.frame_bytes, 0xfc);
	add_u8(x->b, 0);
	indexes = pc_table_offset(x);
	add_pair(x->b, 0, x->plan.steps ? 0 : 0x20);
	for (size_t i = 1; i <= x->plan.steps; i++) {
		add_pair(x->b, 8, 0);
		add_pair(x->b, -8, i < x->plan.steps ? 0 : 0x20);
	}
	add_pair(x->b, 2, 0x20);
	add_pair(x->b, 1, 0xb0);
	add_pair(x->b, 5, 0x10);
	add_u8(x->b, 0);
	patch(x->b, function + entry_bytes + 4, (uint32_t)x->plan.args_bytes, 4);
	patch(x->b, function + entry_bytes + 12, sizes, 4);
	patch(x->b, pcdata + 4, indexes, 4);
	if (x->plan.no_maps)
		return;
	put_funcdata(x, funcdata, add_maps(x, x->plan.map_count, 4, arguments));
	put_funcdata(x, funcdata + (wide ? 8 : 4),
		     add_maps(x, x->plan.map_count, x->plan.local_bits, locals));
	put_funcdata(x, funcdata + 2 * (wide ? 8 : 4), add_stack_objects(x));
}

/* Composes the file into `image_bytes`. */
static inline void compose(struct fixture *x, const struct plan *plan)
{
	uint64_t base = plan->pie ? 0 : BASE;

	memset(x, 0, sizeof(*x));
	x->plan = *plan;
	x->text = base + GO_TABLE_TEXT;
	x->contents = base + (plan->pie ? ELF_FILE_DATA : ELF_FILE_CONSTANTS);
	elf_file_open(&x->file, base);
	add_u64(&x->file.constants, 0);
	add_u64(&x->file.data, 0);
	x->b = plan->pie ? &x->file.data : &x->file.constants;
	go_table_add(&x->table, plan->version, x->b, x->contents, x->text);
	add_liveness(x);
	elf_file_compose(&x->file, &x->image_bytes);
	if (plan->arm64)
		patch(&x->image_bytes, offsetof(Elf64_Ehdr, e_machine), EM_AARCH64, 2);
	assert_int_equal(block_cache_open(1 << 20, &x->cache), 0);
}

static inline int open_composed(struct fixture *x)
{
	struct moduledata module = {.text = x->text, .gofunc = x->table.inlining};
	int fd = memory_file(x->image_bytes.data, x->image_bytes.size);

	assert_int_equal(elf_image_open(fd, x->cache, &x->image), 0);
	close(fd);
	return pclntab_open(x->image, x->table.address, &module, &x->pclntab);
}

static inline void open_table(struct fixture *x, const struct plan *plan)
{
	compose(x, plan);
	assert_int_equal(open_composed(x), 0);
}

static inline void close_table(struct fixture *x)
{
	pclntab_close(x->pclntab);
	elf_image_close(x->image);
	block_cache_close(x->cache);
	elf_file_close(&x->file);
	buffer_close(&x->image_bytes);
}

#endif
