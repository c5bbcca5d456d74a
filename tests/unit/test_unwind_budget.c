/* SPDX-License-Identifier: Apache-2.0 */
/* The unwinder on a table that is there to waste its time: it turns to the frame-pointer chain. */
#include "go_table.h"
#include "gobinary/block_cache.h"
#include "gobinary/gobinary.h"
#include "stack_scene.h"
#include "unwind/unwind.h"

#define BASE  0x400000ull
#define TEXT  (BASE + GO_TABLE_TEXT)
#define STACK 0xc000100000ull

/* Go 1.18's moduledata. */
static void add_module(struct elf_file *f, const struct go_table *t)
{
	uint64_t module[48] = {[0] = t->address, [22] = TEXT, [23] = TEXT + 0x160};

	for (size_t i = 0; i < 5; i++) {
		uint64_t header = t->address - BASE - ELF_FILE_DATA, region;

		memcpy(&region, f->data.data + header + 32 + 8 * i, sizeof(region));
		module[1 + 3 * i] = t->address + region;
	}
	module[35] = BASE + ELF_FILE_DATA;
	module[36] = module[35] + 8;
	add_align(&f->data, 8);
	buffer_add(&f->data, module, sizeof(module));
}

/* main.main's frame has 16 bytes, which is found after 1.5 MiB of steps that go nowhere. */
static void add_slow_sizes(struct elf_file *f, const struct go_table *t)
{
	size_t table = (size_t)(t->address - BASE - ELF_FILE_DATA);
	size_t functions = (size_t)(t->function_table - BASE - ELF_FILE_DATA);
	uint64_t pc_tables;
	uint32_t offset;

	memcpy(&offset, f->data.data + functions + 4, sizeof(offset));
	memcpy(&pc_tables, f->data.data + table + 56, sizeof(pc_tables));
	patch(&f->data, functions + offset + 16, f->data.size - table - pc_tables, 4);
	add_pair(&f->data, 9, 0);
	for (int i = 0; i < 3 << 18; i++)
		add_pair(&f->data, i % 2 ? -8 : 8, 0);
	add_pair(&f->data, 8, 0x100);
	add_u8(&f->data, 0);
}

static void test_slow_table(void **state)
{
	static struct scene_record record;
	static struct unwound_stack out;
	const uint64_t chain[] = {TEXT + 0x30, TEXT + 0x141}; /* main.main, goexit */
	struct unwind_stats stats = {0};
	struct block_cache *cache;
	struct gobinary *binary;
	uint64_t stack[64];
	struct elf_file f;
	struct go_table t;
	int fd;

	elf_file_open(&f, BASE);
	add_u64(&f.constants, 0);
	go_table_add(&t, GO_TABLE_1_18, &f.data, BASE + ELF_FILE_DATA, TEXT);
	add_module(&f, &t);
	add_slow_sizes(&f, &t);
	fd = elf_file_write(&f);
	elf_file_close(&f);
	assert_int_equal(block_cache_open(1 << 20, &cache), 0);
	assert_int_equal(gobinary_open(fd, cache, &binary), 0);
	close(fd);
	for (size_t i = 0; i < 64; i++)
		stack[i] = TEXT + 0x20;
	record.sample.header.type = RECORD_SAMPLE;
	record.sample.pc = TEXT + 0x10;
	record.sample.sp = STACK;
	scene_add_words(&record, &record.sample.chain_count, chain, 2);
	scene_add_words(&record, &record.sample.stack_count, stack, 64);
	/* Each sample has its own: one step by the table, then the chain. */
	for (int i = 0; i < 3; i++) {
		unwind_sample(&record.sample, binary, 0, &out, &stats);
		assert_int_equal(out.count, 3);
		assert_int_equal(out.pcs[0], TEXT + 0x10);
		assert_int_equal(out.pcs[1], TEXT + 0x20);
		assert_int_equal(out.pcs[2], TEXT + 0x30);
		assert_false(out.truncated);
		assert_int_equal(stats.repaired, i + 1);
	}
	gobinary_close(binary);
	block_cache_close(cache);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_slow_table),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
