/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzzes the pclntab reader: the first byte says PIE or not, the rest is one segment. */
#include "go_file.h"
#include "gobinary/moduledata.h"
#include "gobinary/pclntab.h"

#define TEXT (0x400000ull + 0x1000000ull) /* as in the seeds, which tests/unit/go_table.h made */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void count_function(void *context, size_t index, const struct go_function *f)
{
	if (index > 1)
		__builtin_trap();
	++*(size_t *)context;
}

/* Words of frames: outside any function nothing is known of them. */
static void look_at_words(struct pclntab *t, uint64_t pc, bool is_return)
{
	struct go_function f;
	bool known = !pclntab_find_function(t, pc - is_return, &f);

	for (int64_t below_cfa = -64; below_cfa <= 128; below_cfa += 24) {
		enum pointer_slot slot = pclntab_get_pointer_slot(t, pc, is_return, below_cfa);

		if (slot > POINTER_SLOT_LIVE || (!known && slot != POINTER_SLOT_UNKNOWN))
			__builtin_trap();
	}
}

static void look_up(struct pclntab *t, uint64_t pc)
{
	struct go_frame frames[4];
	struct go_function f;
	char name[16];
	int32_t delta;
	int n;

	if (!pclntab_find_function(t, pc, &f))
		pclntab_get_name(t, &f, name, sizeof(name));
	pclntab_get_sp_delta(t, pc, &delta);
	pclntab_begin(t);
	look_at_words(t, pc, true);
	look_at_words(t, pc, false);
	n = pclntab_get_frames(t, pc, frames, 4);
	for (int i = 0; i < n; i++)
		if (i >= 4 ||
		    strnlen(frames[i].function, sizeof(frames[i].function)) ==
			    sizeof(frames[i].function) ||
		    strnlen(frames[i].file, sizeof(frames[i].file)) == sizeof(frames[i].file))
			__builtin_trap();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const names[] = {"main.main", "runtime.goexit"};
	struct moduledata module = {.text = TEXT, .gofunc = GO_FILE_ADDRESS};
	struct pclntab *t;
	struct go_file f;
	uint64_t address;
	size_t count = 0;

	if (!size)
		return 0;
	if (!go_file_open_segment(&f, data[0], data + 1, size - 1) &&
	    !pclntab_find(f.image, &address) && !pclntab_open(f.image, address, &module, &t)) {
		pclntab_find_names(t, names, 2, count_function, &count);
		for (uint64_t pc = TEXT; pc < TEXT + 0x170; pc += 7)
			look_up(t, pc);
		pclntab_close(t);
	}
	go_file_close(&f);
	return 0;
}
