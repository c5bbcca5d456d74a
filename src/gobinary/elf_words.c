/* SPDX-License-Identifier: Apache-2.0 */
/* Pointer-sized words of an ELF file as they stand after relocation with a load bias of 0. */
#include "gobinary/elf_image_private.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Larger than a cache block, so that scans go past the cache. */
#define SCAN_BYTES ((size_t)131072)
/* A sparse or overlapping foreign file must not keep the loader busy for hours. */
#define SCAN_MAX ((uint64_t)1 << 30)
/* What checking a word by its relocation counts as: it reads up to 12 KB. */
#define CHECK_BYTES ((uint64_t)12288)

/*
 * The index of a PIE, made on first use; NULL for others. DT_RELR needs none: its addends are the
 * bytes in the file.
 */
static int get_relocs(struct elf_image *image, struct elf_relocs **out)
{
	int err = 0;

	if (elf_image_is_pie(image) && !image->relocs)
		err = elf_relocs_open(image, &image->relocs);
	*out = image->relocs;
	return err;
}

void elf_image_settle(struct elf_image *image)
{
	elf_relocs_close(image->relocs);
	image->relocs = NULL;
}

/* A relocation wins over the bytes below it, which ld leaves 0 and Go fills in. */
int elf_image_read_word(struct elf_image *image, uint64_t address, uint64_t *word)
{
	struct elf_relocs *relocs;
	int err = get_relocs(image, &relocs);

	if (err)
		return err;
	if (relocs) {
		err = elf_relocs_find(relocs, image, address, word);
		if (err != -ENOENT)
			return err;
	}
	return elf_image_read(image, address, word, sizeof(*word));
}

int elf_image_read_words(struct elf_image *image, uint64_t address, uint64_t *words, size_t count)
{
	int err = 0;

	if (!elf_image_is_pie(image))
		return elf_image_read(image, address, words, count * sizeof(*words));
	for (size_t i = 0; !err && i < count; i++)
		err = elf_image_read_word(image, address + i * sizeof(*words), &words[i]);
	return err;
}

/* A reader of overlapping relocations would be misled, so the word's own relocation decides. */
static int check_word(struct elf_image *image, uint64_t address, uint64_t value)
{
	uint64_t word;
	int err = elf_image_read_word(image, address, &word);

	return err ? err : word == value ? 0 : -ENOENT;
}

struct scan {
	uint8_t *scratch;
	uint64_t budget_bytes;
};

/* The first place in [from, limit) of one segment whose bytes in the file equal `value`. */
static int scan_segment(struct elf_image *image, const struct elf_segment *s, uint64_t value,
			uint64_t from, uint64_t limit, struct scan *scan, uint64_t *place)
{
	uint64_t end = s->address + s->file_size;
	uint64_t at = ((s->address > from ? s->address : from) + 7) & ~7ull;

	end = end < limit ? end : limit;
	while (at < end && end - at >= 8) {
		size_t size = end - at < SCAN_BYTES ? (size_t)(end - at) & ~(size_t)7 : SCAN_BYTES;

		if (size > scan->budget_bytes ||
		    elf_image_read_file(image, s->offset + (at - s->address), scan->scratch, size))
			return -ENOENT;
		scan->budget_bytes -= size;
		for (size_t i = 0; i < size; i += 8) {
			uint64_t word;

			memcpy(&word, scan->scratch + i, sizeof(word));
			if (word != value)
				continue;
			if (!check_word(image, at + i, value)) {
				*place = at + i;
				return 0;
			}
			if (scan->budget_bytes < CHECK_BYTES)
				return -ENOENT;
			scan->budget_bytes -= CHECK_BYTES;
		}
		at += size;
	}
	return -ENOENT;
}

int elf_image_find_word(struct elf_image *image, uint64_t value, uint64_t *place)
{
	uint64_t from = *place ? *place + 8 : 0, best = UINT64_MAX, at;
	struct scan scan = {.budget_bytes = SCAN_MAX};
	struct elf_relocs *relocs;
	int err = get_relocs(image, &relocs);

	if (err)
		return err;
	/* The lowest relocated place, if any, bounds the scan of the bytes. */
	if (relocs && !elf_relocs_find_addend(relocs, image, value, from, &at))
		best = at;
	scan.scratch = malloc(SCAN_BYTES);
	if (!scan.scratch)
		return -ENOMEM;
	for (size_t i = 0; i < image->segment_count; i++) {
		const struct elf_segment *s = &image->segments[i];

		/* A segment that cannot be read in whole (a truncated file) holds no answer. */
		if (s->flags & PF_W && !scan_segment(image, s, value, from, best, &scan, &at))
			best = at;
	}
	free(scan.scratch);
	if (best == UINT64_MAX)
		return -ENOENT;
	*place = best;
	return 0;
}
