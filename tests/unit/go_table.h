/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Composes a small pclntab in each of its formats. Text starts at GO_TABLE_TEXT (plus the file's
 * base) and holds main.main, a wrapper and runtime.goexit; main.main has main.inner inlined.
 */
#ifndef TESTS_GO_TABLE_H
#define TESTS_GO_TABLE_H

#include "elf_file.h"

#define GO_TABLE_TEXT	 0x1000000ull
#define GO_TABLE_WRAPPER 22

/* Versions at which something in the table changed. */
enum go_table_version { GO_TABLE_1_15, GO_TABLE_1_16, GO_TABLE_1_17, GO_TABLE_1_18, GO_TABLE_1_20 };

struct go_table {
	enum go_table_version version;
	uint64_t address;  /* of the table */
	uint64_t inlining; /* of the inline tree: gofunc */
	uint64_t text;
	uint64_t function_table; /* of its first entry */
	uint64_t funcdata;	 /* of main.main's pointer to the inline tree, up to 1.17 */
	/* Offsets by region. */
	uint32_t names[4], files[2], pcsp, pcfile, pcln, inline_index, no_frame;
};

static inline void add_pair(struct buffer *b, int32_t value_step, uint32_t pc_step)
{
	uint32_t numbers[2] = {((uint32_t)value_step << 1) ^ (uint32_t)(value_step >> 31), pc_step};

	for (size_t i = 0; i < 2; i++) {
		for (; numbers[i] >= 0x80; numbers[i] >>= 7)
			add_u8(b, (uint8_t)(numbers[i] | 0x80));
		add_u8(b, (uint8_t)numbers[i]);
	}
}

static inline uint32_t add_name(struct buffer *b, size_t region, const char *name)
{
	uint32_t offset = (uint32_t)(b->size - region);

	buffer_add(b, name, strlen(name) + 1);
	return offset;
}

static inline void go_table_add_names(struct go_table *t, struct buffer *b, size_t region)
{
	static const char *const names[] = {"main.main", "main.inner", "main.(*T).M",
					    "runtime.goexit"};

	for (size_t i = 0; i < 4; i++)
		t->names[i] = add_name(b, region, names[i]);
}

/* Every table of main.main spans its 0x100 bytes; line and file change at the inlined call. */
static inline void go_table_add_pc_tables(struct go_table *t, struct buffer *b, size_t region)
{
	/* Numbers of files: up to 1.15 in a table that starts with its length. */
	int32_t first_file = t->version == GO_TABLE_1_15 ? 1 : 0;

	add_u8(b, 0);
	t->pcsp = (uint32_t)(b->size - region);
	add_pair(b, 1, 4); /* 0 */
	add_pair(b, 24, 0xf0);
	add_pair(b, -24, 0xc);
	add_u8(b, 0);
	t->pcfile = (uint32_t)(b->size - region);
	add_pair(b, first_file + 1, 0x10);
	add_pair(b, 1, 0x10);
	add_pair(b, -1, 0xe0);
	add_u8(b, 0);
	t->pcln = (uint32_t)(b->size - region);
	add_pair(b, 11, 0x10);
	add_pair(b, 20, 0x10);
	add_pair(b, -19, 0xe0);
	add_u8(b, 0);
	t->inline_index = (uint32_t)(b->size - region);
	add_pair(b, 0, 0x10);
	add_pair(b, 1, 0x10);
	add_pair(b, -1, 0xe0);
	add_u8(b, 0);
	t->no_frame = (uint32_t)(b->size - region);
	add_pair(b, 1, 0x40);
	add_u8(b, 0);
}

static inline uint32_t go_table_add_function(struct go_table *t, struct buffer *b, size_t region,
					     size_t index, uint64_t base)
{
	static const uint32_t entries[] = {0, 0x100, 0x140}, lines[] = {9, 1, 100};
	static const uint8_t ids[] = {0, GO_TABLE_WRAPPER, 2};
	uint32_t offset;

	add_align(b, 8);
	offset = (uint32_t)(b->size - region);
	if (t->version >= GO_TABLE_1_18)
		add_u32(b, entries[index]);
	else
		add_u64(b, t->text + entries[index]);
	add_u32(b, t->names[index ? index + 1 : 0]);
	add_u64(b, 0); /* args, deferreturn */
	add_u32(b, index ? t->no_frame : t->pcsp);
	add_u32(b, index ? 0 : t->pcfile);
	add_u32(b, index ? 0 : t->pcln);
	add_u32(b, index ? 0 : 3); /* pcdata */
	if (t->version >= GO_TABLE_1_16)
		add_u32(b, 0);
	if (t->version >= GO_TABLE_1_20)
		add_u32(b, lines[index]);
	add_u8(b, ids[index]);
	add_u8(b, t->version >= GO_TABLE_1_17 && index == 2 ? 5 : 0);
	add_u8(b, 0);
	add_u8(b, index ? 0 : 5); /* funcdata */
	if (index)
		return offset;
	add_u64(b, 0);
	add_u32(b, t->inline_index);
	if (t->version < GO_TABLE_1_18)
		add_align(b, 8);
	for (size_t i = 0; i < 5; i++) {
		bool tree = i == (t->version == GO_TABLE_1_15 ? 4 : 3);

		if (t->version >= GO_TABLE_1_18) {
			add_u32(b, tree ? 0 : UINT32_MAX);
			continue;
		}
		if (tree)
			t->funcdata = base + b->size;
		add_u64(b, tree ? t->inlining : 0);
	}
	return offset;
}

/* One call of main.inner (line 28), inlined at main.main + 8. */
static inline void go_table_add_inlining(struct go_table *t, struct buffer *b)
{
	if (t->version >= GO_TABLE_1_20) {
		add_u32(b, 0);
	} else {
		add_u32(b, 0xffff); /* parent −1 */
		add_u64(b, 0);	    /* file and line of the call, not used */
	}
	add_u32(b, t->names[1]);
	add_u32(b, 8);
	if (t->version >= GO_TABLE_1_20)
		add_u32(b, 28);
}

static inline void patch(struct buffer *b, size_t at, uint64_t value, size_t size)
{
	memcpy(b->data + at, &value, size);
}

/* The function table, whose functions are filled in behind it, and then the functions. */
static inline void go_table_add_functions(struct go_table *t, struct buffer *b, size_t region,
					  uint64_t base)
{
	static const uint32_t entries[] = {0, 0x100, 0x140, 0x160};
	size_t width = t->version >= GO_TABLE_1_18 ? 4 : 8, table = b->size;

	t->function_table = base + table;
	for (size_t i = 0; i < 4; i++) {
		uint64_t entry = width == 8 ? t->text + entries[i] : entries[i];

		buffer_add(b, &entry, width);
		entry = 0;
		buffer_add(b, &entry, i < 3 ? width : 0);
	}
	/* Up to 1.15 the offset of the file table stands here. */
	if (t->version == GO_TABLE_1_15)
		add_u32(b, 0);
	for (size_t i = 0; i < 3; i++)
		patch(b, table + (2 * i + 1) * width, go_table_add_function(t, b, region, i, base),
		      width);
}

static inline void go_table_add_1_15(struct go_table *t, struct buffer *b, uint64_t base)
{
	/* Offsets count from the table; regions before the functions are put into a spare one. */
	size_t region = (size_t)(t->address - base), files_word = b->size + 3 * 16 + 8;
	struct buffer tables = *b;

	/* Two passes: the first only to learn where things lie behind the functions. */
	for (int pass = 0; pass < 2; pass++) {
		b->size = tables.size;
		go_table_add_functions(t, b, region, base);
		go_table_add_names(t, b, region);
		go_table_add_pc_tables(t, b, region);
		t->files[0] = add_name(b, region, "/src/a.go");
		t->files[1] = add_name(b, region, "/src/b.go");
		add_align(b, 4);
		patch(b, files_word, b->size - region, 4);
		add_u32(b, 3);
		add_u32(b, t->files[0]);
		add_u32(b, t->files[1]);
	}
}

static inline void go_table_add_1_16(struct go_table *t, struct buffer *b, uint64_t base)
{
	size_t start = (size_t)(t->address - base), words, region;

	add_u64(b, 2); /* files */
	if (t->version >= GO_TABLE_1_18)
		add_u64(b, t->text);
	words = b->size;
	for (size_t i = 0; i < 5; i++)
		add_u64(b, 0);
	patch(b, words, b->size - start, 8);
	go_table_add_names(t, b, b->size);
	add_align(b, 8);
	patch(b, words + 8, b->size - start, 8);
	add_u32(b, 0);
	add_u32(b, 10);
	patch(b, words + 16, b->size - start, 8);
	add_name(b, 0, "/src/a.go");
	add_name(b, 0, "/src/b.go");
	patch(b, words + 24, b->size - start, 8);
	go_table_add_pc_tables(t, b, b->size);
	add_align(b, 8);
	patch(b, words + 32, b->size - start, 8);
	region = b->size;
	go_table_add_functions(t, b, region, base);
}

/* Appends the table to `b`, which lies at `base` in memory. */
static inline void go_table_add(struct go_table *t, enum go_table_version version, struct buffer *b,
				uint64_t base, uint64_t text)
{
	static const uint32_t magics[] = {0xfffffffb, 0xfffffffa, 0xfffffffa, 0xfffffff0,
					  0xfffffff1};

	*t = (struct go_table){.version = version, .text = text};
	/* Written first where its names do not matter yet, then again with them. */
	for (int pass = 0; pass < 2; pass++) {
		if (pass)
			b->size = (size_t)(t->inlining - base);
		add_align(b, 8);
		t->inlining = base + b->size;
		go_table_add_inlining(t, b);
		add_align(b, 8);
		t->address = base + b->size;
		add_u32(b, magics[version]);
		add_u16(b, 0);
		add_u8(b, 1);
		add_u8(b, 8);
		add_u64(b, 3);
		if (version == GO_TABLE_1_15)
			go_table_add_1_15(t, b, base);
		else
			go_table_add_1_16(t, b, base);
	}
	add_align(b, 8);
	for (int i = 0; i < 16; i++)
		add_u64(b, 0);
}

#endif
