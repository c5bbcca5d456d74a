/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Linkers write the relative relocations first and sorted by place; then the table in the file is
 * searched itself, and memory holds every 512th place only, and the entries of the last look-up,
 * since tables of pointers are read in order. An unsorted table is copied compactly.
 */
#include "gobinary/elf_relocs.h"

#include <elf.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "gobinary/elf_image.h"
#include "gobinary/elf_image_private.h"

#define ENTRY_BYTES  sizeof(Elf64_Rela)
#define ANCHOR_EVERY 512
/* dockerd, a PIE of 90 MB, has 0.6 million; the copy of an unsorted table takes 8 bytes each. */
#define MAX_ENTRIES ((uint64_t)4 << 20)
#define MAX_COPIED  ((uint64_t)2 << 20)
#define MAX_DYNAMIC 512
/* One read of the walk over the whole table; more than a cache block, so it goes past the cache. */
#define WALK_ENTRIES 4096

/* One relocation of an unsorted table: a third of its size in the file. */
struct copied {
	uint32_t place, addend;
};

struct elf_relocs {
	uint64_t offset;	  /* of the table in the file */
	uint64_t count;		  /* entries in the table, all types */
	uint64_t first, relative; /* sorted: the run of relative ones */
	uint64_t *anchors;	  /* place of entry first + i * ANCHOR_EVERY; NULL: see copy */
	Elf64_Rela *window;	  /* sorted: the entries behind one anchor, from the last look-up */
	uint64_t window_first, window_count; /* count 0: nothing read yet */
	struct copied *copy;
	size_t copy_count, copy_capacity;
	uint32_t type;
};

/* Finds the table by PT_DYNAMIC, so that a file without section headers does too. */
static int find_table(struct elf_image *image, struct elf_relocs *r)
{
	uint64_t address = 0, size = 0, entry = ENTRY_BYTES;
	uint64_t end = image->dynamic.file_size / sizeof(Elf64_Dyn);

	/* Some 30 entries are usual. */
	for (uint64_t i = 0; i < end && i < MAX_DYNAMIC; i++) {
		Elf64_Dyn d;

		if (elf_image_read_file(image, image->dynamic.offset + i * sizeof(d), &d,
					sizeof(d)))
			return -EINVAL;
		if (d.d_tag == DT_NULL)
			break;
		if (d.d_tag == DT_RELA)
			address = d.d_un.d_ptr;
		else if (d.d_tag == DT_RELASZ)
			size = d.d_un.d_val;
		else if (d.d_tag == DT_RELAENT)
			entry = d.d_un.d_val;
	}
	if (!address || !size)
		return 0;
	if (entry != ENTRY_BYTES || elf_image_offset_of(image, address, &r->offset))
		return -EINVAL;
	r->count = size / ENTRY_BYTES < MAX_ENTRIES ? size / ENTRY_BYTES : MAX_ENTRIES;
	return 0;
}

/* Calls `each` for all relative relocations in [first, first + count) until it returns non-0. */
static int walk(struct elf_relocs *r, struct elf_image *image, uint64_t first, uint64_t count,
		int (*each)(void *context, uint64_t index, const Elf64_Rela *entry), void *context)
{
	Elf64_Rela *entries = malloc(WALK_ENTRIES * ENTRY_BYTES);
	int err = entries ? 0 : -ENOMEM;

	for (uint64_t done = 0; !err && done < count;) {
		uint64_t n = count - done < WALK_ENTRIES ? count - done : WALK_ENTRIES;

		err = elf_image_read_file(image, r->offset + (first + done) * ENTRY_BYTES, entries,
					  n * ENTRY_BYTES);
		for (uint64_t i = 0; !err && i < n; i++)
			if (ELF64_R_TYPE(entries[i].r_info) == r->type)
				err = each(context, first + done + i, &entries[i]);
		done += n;
	}
	free(entries);
	return err;
}

/* What the first walk finds out: how many relative ones there are and whether they are a run. */
struct survey {
	uint64_t first, count, last_place;
	bool sorted;
};

static int survey_entry(void *context, uint64_t index, const Elf64_Rela *entry)
{
	struct survey *s = context;

	if (!s->count)
		s->first = index;
	/* Another type in between, or a place that does not ascend. */
	else if (index != s->first + s->count || entry->r_offset <= s->last_place)
		s->sorted = false;
	s->count++;
	s->last_place = entry->r_offset;
	return 0;
}

static int copy_entry(void *context, uint64_t index, const Elf64_Rela *entry)
{
	struct elf_relocs *r = context;

	/* Beyond 4 GiB there is no Go executable. */
	if (r->copy_count < r->copy_capacity && entry->r_offset <= UINT32_MAX &&
	    (uint64_t)entry->r_addend <= UINT32_MAX)
		r->copy[r->copy_count++] =
			(struct copied){(uint32_t)entry->r_offset, (uint32_t)entry->r_addend};
	return 0;
}

static int compare_copied(const void *a, const void *b)
{
	const struct copied *x = a, *y = b;

	return x->place < y->place ? -1 : x->place > y->place;
}

/* Anchors for a sorted table, a sorted copy for any other (Go's own linker writes such). */
static int index_entries(struct elf_relocs *r, struct elf_image *image, const struct survey *s)
{
	int err;

	if (s->sorted) {
		uint64_t anchors = (s->count + ANCHOR_EVERY - 1) / ANCHOR_EVERY;

		r->first = s->first;
		r->relative = s->count;
		r->anchors = calloc(anchors + 1, sizeof(*r->anchors));
		r->window = malloc(ANCHOR_EVERY * ENTRY_BYTES);
		if (!r->anchors || !r->window)
			return -ENOMEM;
		for (uint64_t i = 0; i < anchors; i++) {
			err = elf_image_read_file(
				image, r->offset + (r->first + i * ANCHOR_EVERY) * ENTRY_BYTES,
				&r->anchors[i], sizeof(r->anchors[i]));
			if (err)
				return err;
		}
		return 0;
	}
	r->copy_capacity = s->count < MAX_COPIED ? s->count : MAX_COPIED;
	r->copy = malloc(r->copy_capacity * sizeof(*r->copy));
	if (!r->copy)
		return -ENOMEM;
	err = walk(r, image, 0, r->count, copy_entry, r);
	if (!err)
		qsort(r->copy, r->copy_count, sizeof(*r->copy), compare_copied);
	return err;
}

int elf_relocs_open(struct elf_image *image, struct elf_relocs **out)
{
	struct elf_relocs *r = calloc(1, sizeof(*r));
	struct survey s = {.sorted = true};
	int err = r ? 0 : -ENOMEM;

	if (err)
		goto out;
	r->type = image->machine == EM_AARCH64 ? R_AARCH64_RELATIVE : R_X86_64_RELATIVE;
	err = find_table(image, r);
	if (!err)
		err = walk(r, image, 0, r->count, survey_entry, &s);
	if (!err && s.count)
		err = index_entries(r, image, &s);
out:
	if (err) {
		elf_relocs_close(r);
		return err == -ERANGE ? -EINVAL : err;
	}
	*out = r;
	return 0;
}

void elf_relocs_close(struct elf_relocs *r)
{
	if (!r)
		return;
	free(r->anchors);
	free(r->window);
	free(r->copy);
	free(r);
}

/* The entries from `first` on, up to the next anchor: 12 KB of the file. */
static int read_window(struct elf_relocs *r, struct elf_image *image, uint64_t first)
{
	uint64_t count = r->relative - first < ANCHOR_EVERY ? r->relative - first : ANCHOR_EVERY;
	int err;

	if (r->window_count && r->window_first == first)
		return 0;
	r->window_count = 0;
	err = elf_image_read_file(image, r->offset + (r->first + first) * ENTRY_BYTES, r->window,
				  count * ENTRY_BYTES);
	if (err)
		return err;
	r->window_first = first;
	r->window_count = count;
	return 0;
}

/* Anchors in memory, then one window of the file, with a binary search in each. */
static int find_sorted(struct elf_relocs *r, struct elf_image *image, uint64_t place,
		       uint64_t *addend)
{
	uint64_t low = 0, high = (r->relative + ANCHOR_EVERY - 1) / ANCHOR_EVERY;
	int err;

	/* The last anchor <= place. */
	while (low < high) {
		uint64_t middle = low + (high - low) / 2;

		if (r->anchors[middle] <= place)
			low = middle + 1;
		else
			high = middle;
	}
	if (!low)
		return -ENOENT;
	err = read_window(r, image, (low - 1) * ANCHOR_EVERY);
	if (err)
		return err;
	for (low = 0, high = r->window_count; low < high;) {
		uint64_t middle = low + (high - low) / 2;

		if (r->window[middle].r_offset == place) {
			*addend = (uint64_t)r->window[middle].r_addend;
			return 0;
		}
		if (r->window[middle].r_offset < place)
			low = middle + 1;
		else
			high = middle;
	}
	return -ENOENT;
}

int elf_relocs_find(struct elf_relocs *r, struct elf_image *image, uint64_t place, uint64_t *addend)
{
	struct copied key = {.place = (uint32_t)place}, *found;

	if (r->anchors)
		return find_sorted(r, image, place, addend);
	if (!r->copy || place > UINT32_MAX)
		return -ENOENT;
	found = bsearch(&key, r->copy, r->copy_count, sizeof(key), compare_copied);
	if (!found)
		return -ENOENT;
	*addend = found->addend;
	return 0;
}

/* The walk is in order of place, so the first match is the lowest. */
struct search {
	const struct elf_image *image;
	uint64_t addend, from, place;
};

static bool is_place(const struct elf_image *image, uint64_t address)
{
	const struct elf_segment *s = elf_image_segment_at(image, address);

	return s && s->flags & PF_W && !(address & 7);
}

static int search_entry(void *context, uint64_t index, const Elf64_Rela *entry)
{
	struct search *s = context;

	if ((uint64_t)entry->r_addend != s->addend || entry->r_offset < s->from ||
	    !is_place(s->image, entry->r_offset))
		return 0;
	s->place = entry->r_offset;
	return 1;
}

int elf_relocs_find_addend(struct elf_relocs *r, struct elf_image *image, uint64_t addend,
			   uint64_t from, uint64_t *place)
{
	struct search s = {.image = image, .addend = addend, .from = from};
	int err;

	if (r->anchors) {
		err = walk(r, image, r->first, r->relative, search_entry, &s);
		if (err != 1)
			return err ? err : -ENOENT;
		*place = s.place;
		return 0;
	}
	for (size_t i = 0; i < r->copy_count; i++)
		if (r->copy[i].addend == addend && r->copy[i].place >= from &&
		    is_place(image, r->copy[i].place)) {
			*place = r->copy[i].place;
			return 0;
		}
	return -ENOENT;
}
