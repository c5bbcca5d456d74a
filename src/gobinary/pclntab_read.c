/* SPDX-License-Identifier: Apache-2.0 */
/* Bounded readers of the table's parts: entries, functions, strings, pc values, all of it. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "gobinary/pclntab_private.h"

#define MAX_FUNCTION_BYTES 44
#define WALK_ENTRIES	   4096
#define WALK_WINDOW_BYTES  ((size_t)262144)
#define STRING_CHUNK	   128
/* Shapes of big structs: runtime.g's takes 1.3 KB. */
#define LONGEST_NAME	4096
#define PC_WINDOW_BYTES 512
#define WALK_MAX_BYTES	((uint64_t)1 << 30)
#define NO_FUNCDATA	UINT32_MAX

/* Loads from `address` on, so a forward walk reads every byte about once. */
const uint8_t *pclntab_window_get(struct pclntab_window *w, uint64_t address, size_t size)
{
	size_t load;

	if (address >= w->start && address - w->start <= w->size &&
	    size <= w->size - (size_t)(address - w->start))
		return w->data + (address - w->start);
	w->size = 0;
	if (address >= w->limit)
		return NULL;
	load = w->limit - address < w->capacity ? (size_t)(w->limit - address) : w->capacity;
	if (load < size || load > w->budget_bytes ||
	    elf_image_read(w->image, address, w->data, load))
		return NULL;
	w->budget_bytes -= load;
	w->start = address;
	w->size = load;
	return w->data;
}

/* Up to 1.17: pairs of an address, which a PIE relocates, and an offset. */
static int read_wide_entries(struct pclntab *t, uint64_t address, size_t count, bool last,
			     struct pclntab_entry *entries)
{
	for (size_t i = 0; i < count; i++) {
		uint64_t at = address + i * 16, words[2] = {0, 0};
		int err;

		err = elf_image_read(t->image, at, words, last && i + 1 == count ? 8 : 16);
		if (!err && t->relocated)
			err = elf_image_read_word(t->image, at, &words[0]);
		if (err)
			return err;
		/* The first entry is read before text_start is known. */
		if (words[0] < t->text_start || words[0] - t->text_start > UINT32_MAX)
			return -EINVAL;
		entries[i].entry = (uint32_t)(words[0] - t->text_start);
		entries[i].function = (uint32_t)words[1];
	}
	return 0;
}

int pclntab_read_entries(struct pclntab *t, uint64_t first, size_t count,
			 struct pclntab_entry *entries)
{
	const struct pclntab_header *h = &t->header;
	bool last = first + count == h->function_count + 1;
	size_t size = count * sizeof(*entries);

	if (first > h->function_count || count > h->function_count + 1 - first)
		return -ERANGE;
	if (!count)
		return 0;
	if (h->format < PCLNTAB_GO_1_18)
		return read_wide_entries(t, h->function_table + first * 16, count, last, entries);
	if (last) {
		size -= 4;
		entries[count - 1].function = 0;
	}
	return elf_image_read(t->image, h->function_table + first * 8, entries, size);
}

/* 1.18 made entry 4 bytes, 1.16 and 1.20 added a field of 4 each (runtime2.go, type _func). */
static uint32_t function_bytes(const struct pclntab *t)
{
	return t->header.format == PCLNTAB_GO_1_2 || t->header.format == PCLNTAB_GO_1_18 ? 40 : 44;
}

/* Fields in the order of runtime2.go; what is skipped nobody needs. */
static void decode_function(const struct pclntab *t, const uint8_t *raw, struct pclntab_function *f)
{
	enum pclntab_format format = t->header.format;
	struct bytes b = bytes_over(raw, function_bytes(t));

	*f = (struct pclntab_function){.size = function_bytes(t)};
	bytes_skip(&b, format >= PCLNTAB_GO_1_18 ? 4 : 8); /* entry */
	f->name = (int32_t)bytes_u32(&b);
	f->args = (int32_t)bytes_u32(&b);
	bytes_skip(&b, 4); /* deferreturn */
	f->pcsp = bytes_u32(&b);
	f->pcfile = bytes_u32(&b);
	f->pcln = bytes_u32(&b);
	f->pcdata_count = bytes_u32(&b);
	if (format >= PCLNTAB_GO_1_16)
		f->compilation_unit = bytes_u32(&b);
	if (format >= PCLNTAB_GO_1_20)
		f->start_line = bytes_u32(&b);
	f->id = bytes_u8(&b);
	f->flags = bytes_u8(&b);
	bytes_skip(&b, 1);
	f->funcdata_count = bytes_u8(&b);
}

int pclntab_read_function(struct pclntab *t, uint64_t address, struct pclntab_function *out)
{
	uint8_t raw[MAX_FUNCTION_BYTES];
	int err = elf_image_read(t->image, address, raw, function_bytes(t));

	if (!err)
		decode_function(t, raw, out);
	return err;
}

uint32_t pclntab_flags(const struct pclntab *t, const struct pclntab_function *f)
{
	/* runtime.topofstack of 1.15 and 1.16: goexit, mcall, morestack, mstart, rt0_go. */
	static const uint32_t old_top_frames = 1 << 2 | 1 << 4 | 1 << 5 | 1 << 6 | 1 << 7;
	uint32_t flags = f->id && f->id == t->wrapper_id ? GO_WRAPPER : 0;

	/* funcFlag_TOPFRAME, _SPWRITE, _ASM. */
	if (!t->has_flags)
		return flags | (f->id < 32 && old_top_frames >> f->id & 1 ? GO_TOP_FRAME : 0);
	return flags | (f->flags & 1 ? GO_TOP_FRAME : 0) | (f->flags & 2 ? GO_SP_WRITE : 0) |
	       (f->flags & 4 ? GO_ASSEMBLY : 0);
}

int pclntab_read_pcdata(struct pclntab *t, uint64_t handle, const struct pclntab_function *f,
			uint32_t number, uint32_t *table)
{
	if (number >= f->pcdata_count)
		return -ENOENT;
	return elf_image_read(t->image, handle + f->size + (uint64_t)number * 4, table,
			      sizeof(*table));
}

/* Behind pcdata; pointers up to 1.17, then offsets from gofunc. */
int pclntab_read_funcdata(struct pclntab *t, uint64_t handle, const struct pclntab_function *f,
			  uint32_t number, uint64_t *address)
{
	uint64_t at = handle + f->size + (uint64_t)f->pcdata_count * 4;
	uint32_t offset;
	int err;

	if (number >= f->funcdata_count)
		return -ENOENT;
	if (t->header.format < PCLNTAB_GO_1_18) {
		at = ((at + 7) & ~7ull) + (uint64_t)number * 8;
		err = t->relocated ? elf_image_read_word(t->image, at, address)
				   : elf_image_read(t->image, at, address, sizeof(*address));
		return err ? err : *address ? 0 : -ENOENT;
	}
	if (!t->gofunc)
		return -ENOENT;
	err = elf_image_read(t->image, at + (uint64_t)number * 4, &offset, sizeof(offset));
	if (err)
		return err;
	*address = t->gofunc + offset;
	return offset == NO_FUNCDATA ? -ENOENT : 0;
}

int pclntab_read_string(struct pclntab *t, uint64_t address, char *to, size_t size)
{
	size_t used = 0;

	if (!size)
		return -EINVAL;
	to[0] = '\0';
	/* In chunks: most names and paths are shorter than one. */
	while (used < size - 1) {
		size_t chunk = size - 1 - used < STRING_CHUNK ? size - 1 - used : STRING_CHUNK;
		uint64_t at = address + used;
		int err;

		if (at >= t->header.limit)
			return -ERANGE;
		if (chunk > t->header.limit - at)
			chunk = (size_t)(t->header.limit - at);
		err = elf_image_read(t->image, at, to + used, chunk);
		if (err) {
			to[0] = '\0';
			return err;
		}
		if (memchr(to + used, '\0', chunk))
			return 0;
		used += chunk;
	}
	to[used] = '\0';
	return 1;
}

int pclntab_read_name(struct pclntab *t, uint32_t offset, char *to, size_t size)
{
	char whole[LONGEST_NAME], *open, *close;
	uint64_t address = t->header.names + offset;
	int cut = pclntab_read_string(t, address, to, size);

	if (cut <= 0)
		return cut;
	cut = pclntab_read_string(t, address, whole, sizeof(whole));
	if (cut < 0)
		return cut;
	open = strchr(whole, '[');
	close = strrchr(whole, ']');
	if (!open || !close || close < open)
		return 0;
	*open = '\0';
	snprintf(to, size, "%s[...]%s", whole, close + 1);
	return 0;
}

/* One entry of the walk; the function's bytes come from a window that mostly moves forward. */
struct walk {
	struct pclntab *t;
	struct pclntab_window window;
	int (*each)(void *context, uint64_t entry, uint64_t end, uint64_t handle,
		    const struct pclntab_function *f);
	void *context;
};

static int walk_entry(struct walk *w, const struct pclntab_entry *e)
{
	struct pclntab *t = w->t;
	uint64_t handle = t->header.functions + e[0].function;
	const uint8_t *raw = pclntab_window_get(&w->window, handle, function_bytes(t));
	struct pclntab_function f;

	if (!raw)
		return -EINVAL;
	decode_function(t, raw, &f);
	return w->each(w->context, t->text_start + e[0].entry, t->text_start + e[1].entry, handle,
		       &f);
}

int pclntab_walk(struct pclntab *t,
		 int (*each)(void *context, uint64_t entry, uint64_t end, uint64_t handle,
			     const struct pclntab_function *f),
		 void *context)
{
	struct walk w = {.t = t, .each = each, .context = context};
	struct pclntab_entry *entries = malloc((WALK_ENTRIES + 1) * sizeof(*entries));
	int err = 0;

	w.window = (struct pclntab_window){
		.image = t->image,
		.limit = t->header.limit,
		/* Linkers order both tables alike: one pass over 10 to 60 MB is the rule. */
		.budget_bytes = WALK_MAX_BYTES,
		.data = malloc(WALK_WINDOW_BYTES),
		.capacity = WALK_WINDOW_BYTES,
	};
	if (!entries || !w.window.data)
		err = -ENOMEM;
	for (uint64_t first = 0; !err && first < t->header.function_count; first += WALK_ENTRIES) {
		uint64_t left = t->header.function_count - first;
		size_t count = left < WALK_ENTRIES ? (size_t)left : WALK_ENTRIES;

		/* One more, which is the end of the last. */
		err = pclntab_read_entries(t, first, count + 1, entries);
		for (size_t i = 0; !err && i < count; i++)
			err = walk_entry(&w, &entries[i]);
	}
	free(w.window.data);
	free(entries);
	return err == -ERANGE ? -EINVAL : err;
}

/* One LEB128 number of the window; false at its end. */
static bool window_uvarint(struct pclntab_window *w, uint64_t *at, uint32_t *value)
{
	*value = 0;
	for (unsigned int shift = 0; shift < 35; shift += 7) {
		const uint8_t *byte = pclntab_window_get(w, *at, 1);

		if (!byte)
			return false;
		++*at;
		*value |= (uint32_t)(*byte & 0x7f) << shift;
		if (!(*byte & 0x80))
			return true;
	}
	return false;
}

/* Pairs (zigzag difference of the value, difference of the pc); a 0 behind the first ends them. */
static int decode_pc_value(struct pclntab_window *w, uint64_t at, uint32_t quantum, uint64_t pc,
			   uint64_t address, int32_t *value)
{
	uint32_t now = UINT32_MAX; /* −1 */

	for (bool first = true;; first = false) {
		uint32_t value_step, pc_step;

		if (!window_uvarint(w, &at, &value_step))
			return -EINVAL;
		/* A first step of 0 is a value of −1, not the end. */
		if (!value_step && !first)
			return -ENOENT;
		if (!window_uvarint(w, &at, &pc_step))
			return -EINVAL;
		now += value_step & 1 ? ~(value_step >> 1) : value_step >> 1;
		pc += (uint64_t)pc_step * quantum;
		if (address < pc) {
			*value = (int32_t)now;
			return 0;
		}
	}
}

int pclntab_pc_value(struct pclntab *t, uint32_t table, uint64_t entry, uint64_t address,
		     int32_t *value)
{
	uint8_t data[PC_WINDOW_BYTES];
	struct pclntab_window w = {
		.image = t->image,
		.limit = t->header.limit,
		.budget_bytes = t->budget_bytes,
		.data = data,
		.capacity = sizeof(data),
	};
	int err;

	if (!table)
		return -ENOENT;
	err = decode_pc_value(&w, t->header.pc_tables + table, t->header.quantum, entry, address,
			      value);
	t->budget_bytes = w.budget_bytes;
	return err;
}
