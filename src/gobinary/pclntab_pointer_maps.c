/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which words of a frame hold live pointers: the bitmaps that the compiler wrote for the garbage
 * collector, read as runtime.(*stkframe).getStackMap does (runtime/stkframe.go).
 */
#include <elf.h>
#include <errno.h>

#include "gobinary/pclntab_private.h"

#define PCDATA_STACK_MAP_INDEX 1
#define FUNCDATA_ARGUMENT_MAPS 0
#define FUNCDATA_LOCAL_MAPS    1
#define FUNCDATA_STACK_OBJECTS 2
#define ENTRY_MAP	       0
#define WORD_BYTES	       8
#define STACK_OBJECTS_MAX      1024 /* of a function that are looked through */

/* A frame at one place of its function; sizes in bytes. */
struct frame {
	uint64_t handle;
	struct pclntab_function raw;
	int64_t size;	   /* from SP up to the canonical address */
	int64_t locals;	   /* from there down to the end of the local variables */
	int64_t smallest;  /* variables are looked for only in frames with more than this */
	int64_t arguments; /* from the canonical address up to the first argument */
	int32_t map;	   /* index of the bitmap, < 0 none */
};

/* runtime.stackObjectRecord of Go 1.17 and newer; a count of 8 bytes stands before the first. */
struct stack_object {
	int32_t offset; /* from the end of the local variables; not negative: an argument */
	int32_t size;
	int32_t pointers_bytes;
	uint32_t pointers_at;
};

/* One runtime.stackmap: its bitmaps start 8 bytes behind its address. */
struct bitmaps {
	uint64_t address;
	int32_t count;
	int32_t bits; /* of each */
};

static int read_bitmaps(struct pclntab *t, const struct frame *f, uint32_t number,
			struct bitmaps *out)
{
	int32_t header[2];
	uint64_t address;
	int err = pclntab_read_funcdata(t, f->handle, &f->raw, number, &address);

	if (!err)
		err = elf_image_read(t->image, address, header, sizeof(header));
	if (err)
		return err;
	*out = (struct bitmaps){address + sizeof(header), header[0], header[1]};
	return out->count > 0 && out->bits >= 0 ? 0 : -EINVAL;
}

/* `bit` is one of the map's. */
static enum pointer_slot read_bit(struct pclntab *t, const struct bitmaps *m, int32_t index,
				  int64_t bit)
{
	uint64_t bitmap_bytes = ((uint64_t)m->bits + 7) / 8;
	uint64_t at = m->address + (uint64_t)index * bitmap_bytes + (uint64_t)bit / 8;
	uint8_t byte;

	if (index >= m->count || elf_image_read(t->image, at, &byte, 1))
		return POINTER_SLOT_UNKNOWN;
	return byte >> (bit & 7) & 1 ? POINTER_SLOT_LIVE : POINTER_SLOT_DEAD;
}

/* The bitmap's last bit is the highest word, right below the saved frame pointer. */
static enum pointer_slot find_local(struct pclntab *t, const struct frame *f, int64_t below_cfa)
{
	int64_t depth = (below_cfa - f->locals) / WORD_BYTES;
	struct bitmaps m;

	if (below_cfa > f->size || read_bitmaps(t, f, FUNCDATA_LOCAL_MAPS, &m))
		return POINTER_SLOT_UNKNOWN;
	/* Saved registers; below the bitmap arguments for calls and variables without pointers. */
	if (depth <= 0 || depth > m.bits || f->size - f->locals <= f->smallest)
		return POINTER_SLOT_DEAD;
	return read_bit(t, &m, f->map, m.bits - depth);
}

static enum pointer_slot find_argument(struct pclntab *t, const struct frame *f, int64_t above_cfa)
{
	int64_t offset = above_cfa - f->arguments;
	struct bitmaps m;

	/* Of unknown size (< 0): reflect's stubs, whose maps are made when the program runs. */
	if (offset < 0 || offset >= f->raw.args || read_bitmaps(t, f, FUNCDATA_ARGUMENT_MAPS, &m))
		return POINTER_SLOT_UNKNOWN;
	if (offset / WORD_BYTES >= m.bits)
		return POINTER_SLOT_DEAD;
	return read_bit(t, &m, f->map, offset / WORD_BYTES);
}

/*
 * Before a function's first call no map is chosen. A return address with none is that of the call
 * that grows the stack, where the runtime takes the map of the entry. It must not be taken for
 * other places: spill slots are live in it, but only that call fills them.
 */
static int find_map(struct pclntab *t, uint64_t entry, uint64_t place, bool is_return,
		    struct frame *f)
{
	uint32_t table;
	int err = pclntab_read_pcdata(t, f->handle, &f->raw, PCDATA_STACK_MAP_INDEX, &table);

	f->map = -1;
	if (err == -ENOENT || (!err && !table))
		err = 0;
	else if (!err)
		err = pclntab_pc_value(t, table, entry, place, &f->map);
	if (f->map == -1 && is_return)
		f->map = ENTRY_MAP;
	return err;
}

static int find_frame(struct pclntab *t, uint64_t place, bool is_return, struct frame *f)
{
	bool return_address_pushed = elf_image_machine(t->image) == EM_X86_64;
	struct go_function function;
	int32_t delta;
	int err = pclntab_find_function(t, place, &function);

	f->handle = function.handle;
	if (!err)
		err = pclntab_read_function(t, f->handle, &f->raw);
	if (!err)
		err = pclntab_pc_value(t, f->raw.pcsp, function.entry, place, &delta);
	if (!err && (delta < 0 || delta & 7))
		err = -EINVAL;
	if (!err)
		err = find_map(t, function.entry, place, is_return, f);
	if (err)
		return err;
	/*
	 * A frame has the caller's frame pointer on top of its variables. arm64 keeps the return
	 * address at the frame's lower end, and room for it in each caller.
	 */
	f->size = delta + (return_address_pushed ? WORD_BYTES : 0);
	f->locals = return_address_pushed ? 2 * WORD_BYTES : WORD_BYTES;
	f->arguments = return_address_pushed ? 0 : WORD_BYTES;
	f->smallest = return_address_pushed ? 0 : 2 * WORD_BYTES;
	return 0;
}

enum pointer_slot pclntab_get_pointer_slot(struct pclntab *t, uint64_t pc, bool is_return,
					   int64_t below_cfa)
{
	uint64_t granted = pclntab_grant_budget(t);
	struct frame f;
	int err = find_frame(t, pc - is_return, is_return, &f);

	pclntab_settle_budget(t, granted);
	if (err || f.map < 0 || below_cfa % WORD_BYTES)
		return POINTER_SLOT_UNKNOWN;
	/* A negated INT64_MIN is not a number. */
	if (below_cfa <= 0)
		return below_cfa < INT32_MIN ? POINTER_SLOT_UNKNOWN
					     : find_argument(t, &f, -below_cfa);
	return find_local(t, &f, below_cfa);
}

bool pclntab_has_stack_object(struct pclntab *t, uint64_t pc, bool is_return, int64_t below_cfa)
{
	uint64_t granted = pclntab_grant_budget(t), address, count;
	struct stack_object object;
	struct frame f;
	int err = find_frame(t, pc - is_return, is_return, &f);

	pclntab_settle_budget(t, granted);
	if (err || t->header.format < PCLNTAB_GO_1_18 ||
	    pclntab_read_funcdata(t, f.handle, &f.raw, FUNCDATA_STACK_OBJECTS, &address) ||
	    elf_image_read(t->image, address, &count, sizeof(count)))
		return false;
	address += sizeof(count);
	for (uint64_t i = 0; i < count && i < STACK_OBJECTS_MAX; i++, address += sizeof(object)) {
		if (elf_image_read(t->image, address, &object, sizeof(object)))
			return false;
		if (object.offset < 0 && f.locals - object.offset == below_cfa)
			return true;
	}
	return false;
}
