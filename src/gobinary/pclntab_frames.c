/* SPDX-License-Identifier: Apache-2.0 */
/* Frames of an address: the inlined calls around it, with file and line of each. */
#include <errno.h>
#include <string.h>

#include "base/bytes.h"
#include "gobinary/pclntab_private.h"

#define PCDATA_INLINE_TREE 2
#define NO_FILE		   UINT32_MAX
#define MAX_FRAMES	   1024

/* One runtime.inlinedCall. */
struct inlined_call {
	uint8_t id;
	uint32_t name;
	uint32_t parent_pc; /* relative to the physical function */
	uint32_t start_line;
};

struct function {
	struct go_function function;
	struct pclntab_function raw;
	uint32_t inline_index_table; /* pc table of the inline index, 0 none */
	uint64_t inline_tree;	     /* 0 none */
};

static void read_inline_tree(struct pclntab *t, struct function *f)
{
	uint64_t handle = f->function.handle;
	uint32_t number = t->header.format == PCLNTAB_GO_1_2 ? 4 : 3, table;

	f->inline_index_table = 0;
	f->inline_tree = 0;
	if (!pclntab_read_pcdata(t, handle, &f->raw, PCDATA_INLINE_TREE, &table) && table &&
	    !pclntab_read_funcdata(t, handle, &f->raw, number, &f->inline_tree))
		f->inline_index_table = table;
}

static int read_inlined_call(struct pclntab *t, const struct function *f, uint32_t index,
			     struct inlined_call *call)
{
	bool old = t->header.format < PCLNTAB_GO_1_20;
	size_t size = old ? 20 : 16;
	uint8_t raw[20];
	struct bytes b = bytes_over(raw, size);
	int err = elf_image_read(t->image, f->inline_tree + (uint64_t)index * size, raw, size);

	if (err)
		return err;
	/* Before 1.20: parent i16, id, pad, file, line, name, parent pc. */
	if (old)
		bytes_skip(&b, 2);
	call->id = bytes_u8(&b);
	bytes_skip(&b, old ? 9 : 3);
	call->name = bytes_u32(&b);
	call->parent_pc = bytes_u32(&b);
	call->start_line = old ? 0 : bytes_u32(&b);
	return 0;
}

/* Up to 1.15 numbers index one table of all files; then each compilation unit has its own. */
static void read_file(struct pclntab *t, const struct function *f, int32_t number, char *to,
		      size_t size)
{
	const struct pclntab_header *h = &t->header;
	uint64_t at;
	uint32_t offset;

	to[0] = '\0';
	if (number < 0)
		return;
	if (h->format == PCLNTAB_GO_1_2) {
		at = h->files + (uint64_t)number * 4;
		if (!elf_image_read(t->image, at, &offset, sizeof(offset)))
			pclntab_read_string(t, t->address + offset, to, size);
		return;
	}
	at = h->compilation_units + ((uint64_t)f->raw.compilation_unit + (uint32_t)number) * 4;
	if (!elf_image_read(t->image, at, &offset, sizeof(offset)) && offset != NO_FILE)
		pclntab_read_string(t, h->files + offset, to, size);
}

/* Padding behind a function's last instruction has neither: "" and 0. */
static void read_line(struct pclntab *t, const struct function *f, uint64_t address,
		      struct go_frame *frame)
{
	int32_t file = -1, line = 0;

	if (pclntab_pc_value(t, f->raw.pcfile, f->function.entry, address, &file))
		file = -1;
	if (pclntab_pc_value(t, f->raw.pcln, f->function.entry, address, &line) || line < 0)
		line = 0;
	read_file(t, f, file, frame->file, sizeof(frame->file));
	frame->line = (uint32_t)line;
}

/*
 * From the innermost call outwards: each inlined call says at which pc of the physical function it
 * was inlined, and that pc has file, line and index of the next one (runtime.inlineUnwinder).
 */
int pclntab_get_frames(struct pclntab *t, uint64_t address, struct go_frame *frames, size_t max)
{
	struct function f;
	size_t count = 0;
	int err = pclntab_find_function(t, address, &f.function);

	if (!err)
		err = pclntab_read_function(t, f.function.handle, &f.raw);
	if (err)
		return err;
	t->budget_bytes = PCLNTAB_DECODE_BYTES;
	read_inline_tree(t, &f);
	max = max < MAX_FRAMES ? max : MAX_FRAMES;
	while (count < max) {
		struct go_frame *frame = &frames[count++];
		struct inlined_call call;
		int32_t index = -1;

		read_line(t, &f, address, frame);
		if (f.inline_index_table &&
		    pclntab_pc_value(t, f.inline_index_table, f.function.entry, address, &index))
			index = -1;
		/* No further inlined call: the physical function itself. */
		if (index < 0 || read_inlined_call(t, &f, (uint32_t)index, &call)) {
			if (pclntab_read_name(t, (uint32_t)f.raw.name, frame->function,
					      sizeof(frame->function)))
				frame->function[0] = '\0';
			frame->start_line = f.function.start_line;
			frame->wrapper = f.function.flags & GO_WRAPPER;
			break;
		}
		if (pclntab_read_name(t, call.name, frame->function, sizeof(frame->function)))
			frame->function[0] = '\0';
		frame->start_line = call.start_line;
		frame->wrapper = call.id && call.id == t->wrapper_id;
		address = f.function.entry + call.parent_pc;
	}
	return (int)count;
}
