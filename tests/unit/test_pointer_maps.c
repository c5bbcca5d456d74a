/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Live words of stack frames on small tables of every format and both machines; those of real
 * programs are held against the runtime's answers by tests/e2e/liveness.sh.
 */
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

static struct plan plan_of(enum go_table_version version, bool pie, bool arm64)
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
static uint64_t add_maps(struct fixture *x, int32_t count, int32_t bits, const uint16_t *maps)
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
static uint64_t add_stack_objects(struct fixture *x)
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
static uint32_t pc_table_offset(struct fixture *x)
{
	size_t table = (size_t)(x->table.address - x->contents);
	uint64_t region = 0;

	if (x->plan.version >= GO_TABLE_1_16)
		memcpy(&region, x->b->data + table + (x->plan.version >= GO_TABLE_1_18 ? 56 : 48),
		       8);
	return (uint32_t)(x->b->size - table - region);
}

/* A pointer of main.main's funcdata; ld leaves the word of a relocated one 0. */
static void put_funcdata(struct fixture *x, size_t at, uint64_t address)
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
static void add_liveness(struct fixture *x)
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
static void compose(struct fixture *x, const struct plan *plan)
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

static int open_composed(struct fixture *x)
{
	struct moduledata module = {.text = x->text, .gofunc = x->table.inlining};
	int fd = memory_file(x->image_bytes.data, x->image_bytes.size);

	assert_int_equal(elf_image_open(fd, x->cache, &x->image), 0);
	close(fd);
	return pclntab_open(x->image, x->table.address, &module, &x->pclntab);
}

static void open_table(struct fixture *x, const struct plan *plan)
{
	compose(x, plan);
	assert_int_equal(open_composed(x), 0);
}

static void close_table(struct fixture *x)
{
	pclntab_close(x->pclntab);
	elf_image_close(x->image);
	block_cache_close(x->cache);
	elf_file_close(&x->file);
	buffer_close(&x->image_bytes);
}

/* A frame from below its lowest word upwards to behind its arguments: ? unknown, . dead, L live. */
static void assert_frame(struct fixture *x, uint64_t offset, bool is_return, const char *expected)
{
	int64_t below_cfa = FRAME_BYTES + (x->plan.arm64 ? 8 : 16);
	char drawn[32] = "";

	for (size_t i = 0; expected[i]; i++, below_cfa -= 8)
		drawn[i] = "?.L"[pclntab_get_pointer_slot(x->pclntab, x->text + offset + is_return,
							  is_return, below_cfa)];
	assert_string_equal(drawn, expected);
}

static void reads_every_format(void **state)
{
	for (int kind = 0; kind < 3; kind++)
		for (int v = GO_TABLE_1_15; v <= GO_TABLE_1_20; v++) {
			struct plan plan = plan_of((enum go_table_version)v, kind == 1, kind == 2);
			struct fixture x;

			/* Outside, for calls; variables; saved words; arguments; outside. */
			open_table(&x, &plan);
			for (int is_return = 0; is_return < 2; is_return++) {
				assert_frame(&x, FIRST_PC, is_return,
					     plan.arm64 ? "?.L.......L.?L.L..?"
							: "?.L.......L..L.L..?");
				assert_frame(&x, SECOND_PC, is_return,
					     plan.arm64 ? "?....LL.....?.L...?"
							: "?....LL.......L...?");
			}
			close_table(&x);
		}
}

/* The call that grows the stack has no map of its own; an interrupted prologue has none at all. */
static void takes_the_map_of_the_entry(void **state)
{
	struct plan plan = plan_of(GO_TABLE_1_20, false, false);
	struct fixture x;

	open_table(&x, &plan);
	assert_frame(&x, ENTRY_PC, true, "?............LL.L.?");
	assert_frame(&x, ENTRY_PC, false, "???????????????????");
	/* Before the frame is made, there are only the return address and arguments. */
	assert_frame(&x, 2, true, "????????????.LL.L.?");
	close_table(&x);
}

/* Neither functions without maps, nor places without a function, nor what is no word. */
static void says_when_it_does_not_know(void **state)
{
	struct plan plan = plan_of(GO_TABLE_1_20, false, false);
	struct fixture x;

	open_table(&x, &plan);
	assert_frame(&x, 0x120, true, "???????????????????");
	assert_frame(&x, 0x200, true, "???????????????????");
	assert_int_equal(pclntab_get_pointer_slot(x.pclntab, 0, true, 8), POINTER_SLOT_UNKNOWN);
	assert_int_equal(pclntab_get_pointer_slot(x.pclntab, UINT64_MAX, false, 8),
			 POINTER_SLOT_UNKNOWN);
	assert_int_equal(pclntab_get_pointer_slot(x.pclntab, x.text + FIRST_PC, false, 24),
			 POINTER_SLOT_LIVE);
	for (int64_t i = 1; i < 8; i++)
		assert_int_equal(
			pclntab_get_pointer_slot(x.pclntab, x.text + FIRST_PC, false, 24 + i),
			POINTER_SLOT_UNKNOWN);
	assert_int_equal(pclntab_get_pointer_slot(x.pclntab, x.text + FIRST_PC, false, INT64_MIN),
			 POINTER_SLOT_UNKNOWN);
	assert_int_equal(
		pclntab_get_pointer_slot(x.pclntab, x.text + FIRST_PC, false, INT64_MAX - 7),
		POINTER_SLOT_UNKNOWN);
	close_table(&x);
	plan.no_maps = true;
	open_table(&x, &plan);
	assert_frame(&x, FIRST_PC, true, "???????????????????");
	close_table(&x);
}

static void check_sizes(int32_t frame_bytes, int32_t args_bytes, int32_t map_count,
			int32_t local_bits, const char *expected)
{
	struct plan plan = plan_of(GO_TABLE_1_20, false, false);
	struct fixture x;

	plan.frame_bytes = frame_bytes;
	plan.args_bytes = args_bytes;
	plan.map_count = map_count;
	plan.local_bits = local_bits;
	open_table(&x, &plan);
	assert_frame(&x, FIRST_PC, true, expected);
	close_table(&x);
}

static void distrusts_sizes(void **state)
{
	struct plan plan = plan_of(GO_TABLE_1_20, false, false);
	struct fixture x;

	check_sizes(FRAME_BYTES, ARGS_BYTES, MAPS, 0, "?............L.L..?");
	check_sizes(FRAME_BYTES, ARGS_BYTES, MAPS, -1, "?????????????L.L..?");
	check_sizes(FRAME_BYTES, ARGS_BYTES, MAPS, INT32_MAX, "???????????..L.L..?");
	check_sizes(FRAME_BYTES, ARGS_BYTES, 1, LOCAL_BITS, "?.?????????..????.?");
	check_sizes(FRAME_BYTES, ARGS_BYTES, 0, LOCAL_BITS, "???????????????????");
	check_sizes(FRAME_BYTES, ARGS_BYTES, -1, LOCAL_BITS, "???????????????????");
	check_sizes(FRAME_BYTES, INT32_MIN, MAPS, LOCAL_BITS, "?.L.......L..??????");
	check_sizes(FRAME_BYTES, INT32_MAX, MAPS, LOCAL_BITS, "?.L.......L..L.L...");
	check_sizes(FRAME_BYTES, 0, MAPS, LOCAL_BITS, "?.L.......L..??????");
	check_sizes(-FRAME_BYTES, ARGS_BYTES, MAPS, LOCAL_BITS, "???????????????????");
	check_sizes(FRAME_BYTES - 4, ARGS_BYTES, MAPS, LOCAL_BITS, "???????????????????");
	/* The index of a map that is not there. */
	open_table(&x, &plan);
	assert_frame(&x, BEYOND_PC, true, "?.?????????..????.?");
	close_table(&x);
}

/* The runtime looks for no variables in an arm64 frame that has room for none. */
static void knows_the_smallest_frames(void **state)
{
	struct plan plan = plan_of(GO_TABLE_1_20, false, true);
	struct fixture x;

	plan.frame_bytes = 24;
	open_table(&x, &plan);
	assert_frame(&x, FIRST_PC, true, "?????????...?L.L..?");
	close_table(&x);
	plan.frame_bytes = 32;
	open_table(&x, &plan);
	assert_frame(&x, FIRST_PC, true, "????????..L.?L.L..?");
	close_table(&x);
	plan.arm64 = false;
	plan.frame_bytes = 16;
	open_table(&x, &plan);
	assert_frame(&x, FIRST_PC, true, "??????????L..L.L..?");
	close_table(&x);
}

/* How far below the caller's SP they begin, summed. */
static int64_t sum_of_objects(struct fixture *x, uint64_t offset)
{
	int64_t sum = 0;

	for (int64_t below = -64; below < 128; below++)
		if (pclntab_has_stack_object(x->pclntab, x->text + offset, true, below))
			sum += below;
	return sum;
}

static void finds_stack_objects(void **state)
{
	for (int arm64 = 0; arm64 < 2; arm64++)
		for (int v = GO_TABLE_1_18; v <= GO_TABLE_1_20; v++) {
			struct plan plan = plan_of((enum go_table_version)v, false, arm64);
			int64_t end = arm64 ? 8 : 16;
			struct fixture x;

			open_table(&x, &plan);
			assert_int_equal(sum_of_objects(&x, FIRST_PC), 2 * end + 24 + 48);
			assert_int_equal(sum_of_objects(&x, ENTRY_PC), 2 * end + 24 + 48);
			assert_int_equal(sum_of_objects(&x, 0x120), 0); /* another function */
			assert_int_equal(sum_of_objects(&x, 0x200), 0);
			close_table(&x);
			plan.objects = 2;
			open_table(&x, &plan);
			assert_int_equal(sum_of_objects(&x, FIRST_PC), end + 48);
			close_table(&x);
			plan.objects = UINT64_MAX; /* as far as there is anything to read */
			open_table(&x, &plan);
			assert_true(pclntab_has_stack_object(x.pclntab, x.text + FIRST_PC, true,
							     end + 24));
			assert_false(pclntab_has_stack_object(x.pclntab, x.text + FIRST_PC, true,
							      INT64_MIN));
			close_table(&x);
		}
}

/* A table of map indexes that spends its bytes without coming anywhere. */
static void bounds_the_look_ups_of_a_stack(void **state)
{
	struct plan plan = plan_of(GO_TABLE_1_20, false, false);
	uint64_t pc;
	struct fixture x;

	plan.steps = 3 << 16;
	open_table(&x, &plan);
	pc = x.text + FIRST_PC;
	for (int stack = 0; stack < 2; stack++) {
		pclntab_begin(x.pclntab);
		for (int i = 0; i < 5; i++)
			assert_int_equal(pclntab_get_pointer_slot(x.pclntab, pc, false, 24),
					 i < 2 ? POINTER_SLOT_LIVE : POINTER_SLOT_UNKNOWN);
	}
	close_table(&x);
}

/* Every byte of table and maps in turn set to something else: it ends, whatever it answers. */
static void survives_spoilt_tables(void **state)
{
	static const uint8_t values[] = {0x7f, 0x80, 0xff};
	struct fixture x;

	for (int v = GO_TABLE_1_15; v <= GO_TABLE_1_20; v++) {
		struct plan plan = plan_of((enum go_table_version)v, false, false);
		size_t live = 0, start;

		compose(&x, &plan);
		start = 4096 + (size_t)(x.table.address - x.contents);
		for (size_t i = start; i < 4096 + x.b->size; i++) {
			uint8_t before = x.image_bytes.data[i];

			x.image_bytes.data[i] = values[i % sizeof(values)];
			if (!open_composed(&x))
				for (int64_t below = -64; below < 128; below += 8)
					live += pclntab_get_pointer_slot(
							x.pclntab, x.text + FIRST_PC, true,
							below) == POINTER_SLOT_LIVE;
			x.image_bytes.data[i] = before;
			pclntab_close(x.pclntab);
			x.pclntab = NULL;
			elf_image_close(x.image);
			x.image = NULL;
		}
		/* Most bytes do not matter to these words. */
		assert_true(live > x.b->size);
		close_table(&x);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_every_format),
		cmocka_unit_test(takes_the_map_of_the_entry),
		cmocka_unit_test(says_when_it_does_not_know),
		cmocka_unit_test(distrusts_sizes),
		cmocka_unit_test(knows_the_smallest_frames),
		cmocka_unit_test(finds_stack_objects),
		cmocka_unit_test(bounds_the_look_ups_of_a_stack),
		cmocka_unit_test(survives_spoilt_tables),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
