/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Live words of stack frames on small tables of every format and both machines; those of real
 * programs are held against the runtime's answers by tests/e2e/liveness.sh.
 */
#include "frame_table.h"

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
		cmocka_unit_test(bounds_the_look_ups_of_a_stack),
		cmocka_unit_test(survives_spoilt_tables),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
