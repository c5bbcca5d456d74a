/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds runtime.firstmoduledata as a word that points at pclntab and is followed by the words that
 * pclntab's header implies. Field order: Go's runtime/symtab.go, 1.15 to 1.27.
 */
#include "gobinary/moduledata.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "base/bytes.h"
#include "gobinary/elf_image.h"

#define MAGIC_1_2  0xfffffffbu /* to Go 1.15 */
#define MAGIC_1_16 0xfffffffau
#define MAGIC_1_18 0xfffffff0u
#define MAGIC_1_20 0xfffffff1u

#define HEADER_BYTES 72
/* More places that hold pclntab's address than this are not looked at. */
#define MAX_PLACES 64

/* Where things lie in moduledata, in words; 0: this version has none. */
struct layout {
	size_t text; /* then etext */
	size_t types, etypes, gofunc;
	size_t itab_links; /* a slice: pointer, length, capacity */
	size_t itab_place; /* offset from types, then size */
};

struct header {
	uint32_t magic;
	uint64_t funcnametab, cutab, filetab, pctab, pclntable; /* offsets from pclntab */
};

static int read_header(struct elf_image *image, uint64_t pclntab, struct header *out)
{
	uint8_t data[HEADER_BYTES];
	struct bytes b;
	int err = elf_image_read(image, pclntab, data, sizeof(data));

	if (err)
		return err == -ERANGE ? -EINVAL : err;
	b = bytes_over(data, sizeof(data));
	*out = (struct header){.magic = bytes_u32(&b)};
	if (out->magic == MAGIC_1_2)
		return 0;
	if (out->magic != MAGIC_1_16 && out->magic != MAGIC_1_18 && out->magic != MAGIC_1_20)
		return -EINVAL;
	/* pad, quantum and pointer size; nfunc; nfiles; from 1.18 textStart */
	bytes_skip(&b, out->magic == MAGIC_1_16 ? 20 : 28);
	out->funcnametab = bytes_u64(&b);
	out->cutab = bytes_u64(&b);
	out->filetab = bytes_u64(&b);
	out->pctab = bytes_u64(&b);
	out->pclntable = bytes_u64(&b);
	return 0;
}

/* The words of one candidate, lazily: a PIE needs a look-up of the relocation for each. */
struct words {
	struct elf_image *image;
	uint64_t address;
	int err; /* the first error; words read as 0 from then on */
};

static uint64_t word(struct words *w, size_t index)
{
	uint64_t value = 0;

	if (w->err || !index)
		return 0;
	w->err = elf_image_read_word(w->image, w->address + 8 * index, &value);
	return w->err ? 0 : value;
}

static bool points_into(struct words *w, uint64_t pclntab, const struct header *h)
{
	if (h->magic == MAGIC_1_2)
		/* pclntable, ftab and filetab are slices into the one table */
		return word(w, 1) == word(w, 2) && word(w, 3) > pclntab &&
		       word(w, 3) - pclntab < 64 && word(w, 6) > pclntab;
	return word(w, 1) == pclntab + h->funcnametab && word(w, 4) == pclntab + h->cutab &&
	       word(w, 7) == pclntab + h->filetab && word(w, 10) == pclntab + h->pctab &&
	       word(w, 13) == pclntab + h->pclntable;
}

static struct layout layout_of(struct words *w, const struct header *h)
{
	switch (h->magic) {
	case MAGIC_1_2:
		return (struct layout){12, 25, 26, 0, 33, 0};
	case MAGIC_1_16:
		return (struct layout){22, 35, 36, 0, 43, 0};
	case MAGIC_1_18:
		return (struct layout){22, 35, 36, 38, 45, 0};
	}
	/*
	 * From 1.20, two words covctrs precede `end`. In 1.27 typedesclen stands between types
	 * and etypes; up to 1.26 the two words there are etypes and rodata, both addresses, and
	 * rodata lies below the end of the types.
	 */
	if (word(w, 37) + word(w, 38) <= word(w, 39))
		return (struct layout){22, 37, 39, 43, 0, 40};
	/* 1.26 puts epclntab before textsectmap, a slice whose length is its capacity. */
	return (struct layout){22, 37, 38, 40, word(w, 42) == word(w, 43) ? 47 : 48, 0};
}

/* A version not known, or a file that lies, has no interface tables; nothing else needs them. */
static void fill_itabs(struct words *w, const struct layout *l, struct moduledata *out)
{
	uint64_t types_size = out->etypes - out->types, offset, size, count;

	if (l->itab_place) {
		offset = word(w, l->itab_place);
		size = word(w, l->itab_place + 1);
		if (w->err || offset > types_size || size > types_size - offset)
			return;
		out->itabs = out->types + offset;
		out->itabs_end = out->itabs + size;
		return;
	}
	count = word(w, l->itab_links + 1);
	if (count != word(w, l->itab_links + 2) || w->err)
		return;
	out->itab_links = word(w, l->itab_links);
	out->itab_link_count = w->err ? 0 : count;
}

static int fill(struct words *w, const struct layout *l, struct moduledata *out)
{
	out->address = w->address;
	out->text = word(w, l->text);
	out->etext = word(w, l->text + 1);
	out->types = word(w, l->types);
	out->etypes = word(w, l->etypes);
	out->gofunc = word(w, l->gofunc);
	/* text, etext, noptrdata, enoptrdata, data, edata, bss, ebss */
	out->data = word(w, l->text + 4);
	out->ebss = word(w, l->text + 7);
	if (w->err)
		return w->err == -ERANGE ? -EINVAL : w->err;
	if (out->text >= out->etext || out->types >= out->etypes)
		return -EINVAL;
	fill_itabs(w, l, out);
	return 0;
}

int moduledata_find(struct elf_image *image, uint64_t pclntab, struct moduledata *out)
{
	uint64_t place = 0;
	struct header h;
	int err = read_header(image, pclntab, &h);

	for (int i = 0; !err && i < MAX_PLACES; i++) {
		struct words w = {.image = image};
		struct layout l;

		err = elf_image_find_word(image, pclntab, &place);
		if (err)
			return err;
		w.address = place;
		if (!points_into(&w, pclntab, &h) || w.err)
			continue;
		l = layout_of(&w, &h);
		*out = (struct moduledata){0};
		return fill(&w, &l, out);
	}
	return err ? err : -ENOENT;
}
