/* SPDX-License-Identifier: Apache-2.0 */
/* Functions by address and by name; see pclntab.h. */
#include "gobinary/pclntab_private.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "gobinary/moduledata.h"

#define ANCHOR_CHUNK 4096

/* Where offsets of the function table count from. */
static int find_text_start(struct pclntab *t, const struct moduledata *module)
{
	int err;

	if (t->header.format < PCLNTAB_GO_1_18) {
		/* The entries are addresses; from the first one on they fit 32 bits. */
		err = t->relocated ? elf_image_read_word(t->image, t->header.function_table,
							 &t->text_start)
				   : elf_image_read(t->image, t->header.function_table,
						    &t->text_start, sizeof(t->text_start));
		return err;
	}
	/* Not .text's address: external linking puts C startup code in front. */
	if (module && module->text) {
		t->text_start = module->text;
		return 0;
	}
	err = elf_image_read_word(t->image, t->address + 24, &t->text_start);
	/* From 1.26 the header no longer says it. */
	return err ? err : t->text_start ? 0 : -EINVAL;
}

/*
 * Every 64th entry and the end of text: 4 bytes per 64 functions keep a look-up to one read of 512
 * bytes, against 17 reads of a binary search through the file.
 */
static int read_anchors(struct pclntab *t)
{
	uint64_t count = t->header.function_count + 1;
	struct pclntab_entry *chunk = malloc(ANCHOR_CHUNK * sizeof(*chunk));
	int err = 0;

	t->anchors = malloc((count / PCLNTAB_ANCHOR_EVERY + 2) * sizeof(*t->anchors));
	if (!t->anchors || !chunk)
		err = -ENOMEM;
	for (uint64_t first = 0; !err && first < count; first += ANCHOR_CHUNK) {
		size_t n = count - first < ANCHOR_CHUNK ? (size_t)(count - first) : ANCHOR_CHUNK;

		err = pclntab_read_entries(t, first, n, chunk);
		for (size_t i = 0; !err && i < n; i += PCLNTAB_ANCHOR_EVERY)
			t->anchors[t->anchor_count++] = chunk[i].entry;
		if (!err && first + n == count)
			t->anchors[t->anchor_count++] = chunk[n - 1].entry;
	}
	free(chunk);
	return err;
}

/* What only the whole table tells: the version's wrapper funcID, and whether it has flags. */
static int survey_function(void *context, uint64_t entry, uint64_t end, uint64_t handle,
			   const struct pclntab_function *f)
{
	struct pclntab *t = context;

	if (f->id > t->wrapper_id)
		t->wrapper_id = f->id;
	if (f->flags)
		t->has_flags = t->header.format > PCLNTAB_GO_1_2;
	return 0;
}

int pclntab_open(struct elf_image *image, uint64_t address, const struct moduledata *module,
		 struct pclntab **out)
{
	struct pclntab *t = calloc(1, sizeof(*t));
	int err = t ? 0 : -ENOMEM;

	if (err)
		return err;
	t->image = image;
	t->address = address;
	t->stack_budget_bytes = UINT64_MAX;
	err = pclntab_read_header(image, address, &t->header);
	if (err)
		goto out;
	t->relocated = t->header.format < PCLNTAB_GO_1_18 && elf_image_is_pie(image);
	t->has_flags = t->header.format >= PCLNTAB_GO_1_18;
	t->gofunc = module && t->header.format >= PCLNTAB_GO_1_18 ? module->gofunc : 0;
	err = find_text_start(t, module);
	if (!err)
		err = read_anchors(t);
	if (!err)
		err = pclntab_walk(t, survey_function, t);
	if (err)
		goto out;
	*out = t;
	return 0;
out:
	pclntab_close(t);
	return err == -ERANGE ? -EINVAL : err;
}

void pclntab_close(struct pclntab *t)
{
	if (!t)
		return;
	free(t->anchors);
	free(t);
}

bool pclntab_needs_relocations(const struct pclntab *t)
{
	return t->relocated;
}

/* The number of leading elements <= `entry`. */
static size_t count_until(const uint32_t *entries, size_t stride, size_t count, uint32_t entry)
{
	size_t low = 0, high = count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (entries[middle * stride] <= entry)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

int pclntab_find_function(struct pclntab *t, uint64_t address, struct go_function *out)
{
	struct pclntab_entry near[PCLNTAB_ANCHOR_EVERY + 1];
	struct pclntab_function f;
	uint64_t first, left;
	size_t count, i;
	int err;

	if (address < t->text_start || address - t->text_start >= t->anchors[t->anchor_count - 1])
		return -ENOENT;
	/* Unsigned 32 bits suffice: the address was checked against the end of text. */
	i = count_until(t->anchors, 1, t->anchor_count, (uint32_t)(address - t->text_start));
	if (!i || i == t->anchor_count)
		return -ENOENT;
	first = (i - 1) * (uint64_t)PCLNTAB_ANCHOR_EVERY;
	left = t->header.function_count + 1 - first;
	count = left < PCLNTAB_ANCHOR_EVERY + 1 ? (size_t)left : PCLNTAB_ANCHOR_EVERY + 1;
	err = pclntab_read_entries(t, first, count, near);
	if (err)
		return err;
	i = count_until(&near[0].entry, sizeof(*near) / sizeof(uint32_t), count,
			(uint32_t)(address - t->text_start));
	/* An unsorted (hostile) table can miss both bounds. */
	if (!i || i == count)
		return -ENOENT;
	/* The address of runtime._func. */
	out->handle = t->header.functions + near[i - 1].function;
	err = pclntab_read_function(t, out->handle, &f);
	if (err)
		return err;
	out->entry = t->text_start + near[i - 1].entry;
	out->end = t->text_start + near[i].entry;
	out->flags = pclntab_flags(t, &f);
	out->start_line = f.start_line;
	return 0;
}

bool pclntab_begins_at(struct pclntab *t, uint64_t address)
{
	struct go_function function;

	return !pclntab_find_function(t, address, &function) && function.entry == address;
}

int pclntab_get_name(struct pclntab *t, const struct go_function *f, char *to, size_t size)
{
	struct pclntab_function function;
	int err = pclntab_read_function(t, f->handle, &function);

	if (err)
		return err;
	return pclntab_read_name(t, (uint32_t)function.name, to, size);
}

void pclntab_begin(struct pclntab *t)
{
	t->stack_budget_bytes = PCLNTAB_STACK_BYTES;
}

uint64_t pclntab_grant_budget(struct pclntab *t)
{
	t->budget_bytes = t->stack_budget_bytes < PCLNTAB_DECODE_BYTES ? t->stack_budget_bytes
								       : PCLNTAB_DECODE_BYTES;
	return t->budget_bytes;
}

void pclntab_settle_budget(struct pclntab *t, uint64_t granted)
{
	if (t->stack_budget_bytes != UINT64_MAX)
		t->stack_budget_bytes -= granted - t->budget_bytes;
}

int pclntab_get_sp_delta(struct pclntab *t, uint64_t address, int32_t *delta)
{
	struct pclntab_function function;
	struct go_function f;
	uint64_t granted = pclntab_grant_budget(t);
	int err = pclntab_find_function(t, address, &f);

	if (!err)
		err = pclntab_read_function(t, f.handle, &function);
	if (!err)
		err = pclntab_pc_value(t, function.pcsp, f.entry, address, delta);
	pclntab_settle_budget(t, granted);
	/* The runtime throws on such a value; a walk must not go on with it. */
	if (!err && *delta & 7)
		err = -EINVAL;
	return err;
}
