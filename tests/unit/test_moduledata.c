/* SPDX-License-Identifier: Apache-2.0 */
/* moduledata of every layout since Go 1.15, made by hand. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "go_image.h"
#include "gobinary/block_cache.h"
#include "gobinary/elf_image.h"
#include "gobinary/moduledata.h"

#define TEXT	(GO_IMAGE_TEXT)
#define TYPES	(GO_IMAGE_DATA)
#define WORD(n) (GO_IMAGE_MODULE + 8 * (n))
#define LINKS	(GO_IMAGE_LINKS)

static void put_header(struct go_image *m, uint32_t magic)
{
	const uint64_t regions[] = {GO_IMAGE_FUNCNAMES, GO_IMAGE_CUTAB, GO_IMAGE_FILETAB,
				    GO_IMAGE_PCTAB, GO_IMAGE_FUNCTIONS};
	uint64_t at = GO_IMAGE_PCLNTAB + (magic == GO_MAGIC_1_16 ? 24 : 32);

	go_image_put32(m, GO_IMAGE_PCLNTAB, magic);
	go_image_put(m, GO_IMAGE_PCLNTAB + 6, "\1\10", 2);
	go_image_put_pointer(m, WORD(0), GO_IMAGE_PCLNTAB);
	for (size_t i = 0; magic != GO_MAGIC_1_2 && i < 5; i++) {
		go_image_put64(m, at + 8 * i, regions[i]);
		go_image_put_pointer(m, WORD(1 + 3 * i), GO_IMAGE_PCLNTAB + regions[i]);
	}
}

static void put_text(struct go_image *m, size_t at)
{
	go_image_put_pointer(m, WORD(at), TEXT);
	go_image_put_pointer(m, WORD(at + 1), TEXT + 0x800);
	go_image_put_pointer(m, WORD(at + 4), GO_IMAGE_VARIABLES);	   /* data */
	go_image_put_pointer(m, WORD(at + 7), GO_IMAGE_VARIABLES + 0x400); /* end of bss */
}

static void put_slice(struct go_image *m, size_t at, uint64_t pointer, uint64_t count)
{
	go_image_put_pointer(m, WORD(at), pointer);
	go_image_put64(m, WORD(at + 1), count);
	go_image_put64(m, WORD(at + 2), count);
}

static int find(struct go_image *m, struct moduledata *out)
{
	struct elf_image *image = NULL;
	struct block_cache *cache;
	int fd, err;

	if (m->pie)
		go_image_put_dynamic(m);
	fd = go_image_file(m);
	assert_int_equal(block_cache_open(1 << 20, &cache), 0);
	err = elf_image_open(fd, cache, &image);
	if (!err)
		err = moduledata_find(image, GO_IMAGE_PCLNTAB, out);
	elf_image_close(image);
	block_cache_close(cache);
	close(fd);
	return err;
}

static void check_places(const struct moduledata *d)
{
	assert_int_equal(d->address, GO_IMAGE_MODULE);
	assert_int_equal(d->text, TEXT);
	assert_int_equal(d->etext, TEXT + 0x800);
	assert_int_equal(d->types, TYPES);
	assert_int_equal(d->etypes, TYPES + 0x900);
	assert_int_equal(d->data, GO_IMAGE_VARIABLES);
	assert_int_equal(d->ebss, GO_IMAGE_VARIABLES + 0x400);
}

struct row {
	uint32_t magic;
	size_t text, types, gofunc, sections, links;
	bool pie;
};

/* Up to 1.26 etypes follows types. */
static void check_row(const struct row *r)
{
	static struct go_image m;
	struct moduledata d;

	go_image_open(&m, r->pie);
	put_header(&m, r->magic);
	if (r->magic == GO_MAGIC_1_2) {
		go_image_put64(&m, WORD(1), 0x700); /* pclntable's length and capacity */
		go_image_put64(&m, WORD(2), 0x700);
		go_image_put_pointer(&m, WORD(3), GO_IMAGE_PCLNTAB + 16);    /* ftab */
		go_image_put_pointer(&m, WORD(6), GO_IMAGE_PCLNTAB + 0x600); /* filetab */
	}
	put_text(&m, r->text);
	go_image_put_pointer(&m, WORD(r->types), TYPES);
	go_image_put_pointer(&m, WORD(r->types + 1), TYPES + 0x900);
	if (r->sections == 42)
		go_image_put_pointer(&m, WORD(41), GO_IMAGE_PCLNTAB + 0xf00); /* epclntab */
	if (r->gofunc) {
		go_image_put_pointer(&m, WORD(r->gofunc - 1), TYPES - 0x100); /* rodata */
		go_image_put_pointer(&m, WORD(r->gofunc), GO_IMAGE_PCLNTAB + 0xa00);
	}
	put_slice(&m, r->sections, TYPES - 0x80, 3);   /* textsectmap */
	put_slice(&m, r->links - 3, LINKS + 0x100, 5); /* typelinks */
	put_slice(&m, r->links, LINKS, 7);
	assert_int_equal(find(&m, &d), 0);
	check_places(&d);
	assert_int_equal(d.gofunc, r->gofunc ? GO_IMAGE_PCLNTAB + 0xa00 : 0);
	assert_int_equal(d.itab_links, LINKS);
	assert_int_equal(d.itab_link_count, 7);
	assert_int_equal(d.itabs, 0);
	assert_int_equal(d.itabs_end, 0);
	/* A slice whose length is not its capacity is none: the layout is another. */
	go_image_put64(&m, WORD(r->links + 2), 8);
	assert_int_equal(find(&m, &d), 0);
	check_places(&d);
	assert_int_equal(d.itab_links, 0);
	assert_int_equal(d.itab_link_count, 0);
}

static void test_every_layout(void **state)
{
	const struct row rows[] = {
		{GO_MAGIC_1_2, 12, 25, 0, 27, 33, false},   /* 1.15 */
		{GO_MAGIC_1_16, 22, 35, 0, 37, 43, false},  /* 1.16, 1.17 */
		{GO_MAGIC_1_18, 22, 35, 38, 39, 45, false}, /* 1.18, 1.19 */
		{GO_MAGIC_1_20, 22, 37, 40, 41, 47, false}, /* 1.20 to 1.25 */
		{GO_MAGIC_1_20, 22, 37, 40, 42, 48, false}, /* 1.26 */
		{GO_MAGIC_1_18, 22, 35, 38, 39, 45, true},
		{GO_MAGIC_1_20, 22, 37, 40, 41, 47, true},
		{GO_MAGIC_1_20, 22, 37, 40, 42, 48, true},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		check_row(&rows[i]);
}

/* The rest stays as it is. */
static void check_without_itabs(struct go_image *m)
{
	struct moduledata d;

	assert_int_equal(find(m, &d), 0);
	check_places(&d);
	assert_int_equal(d.itabs, 0);
	assert_int_equal(d.itabs_end, 0);
}

static void test_go_1_27(void **state)
{
	static struct go_image m;
	struct moduledata d;

	for (int pie = 0; pie < 2; pie++) {
		go_image_open(&m, pie);
		put_header(&m, GO_MAGIC_1_20);
		put_text(&m, 22);
		go_image_put_pointer(&m, WORD(37), TYPES);
		go_image_put64(&m, WORD(38), 0x700); /* typedesclen */
		go_image_put_pointer(&m, WORD(39), TYPES + 0x900);
		go_image_put64(&m, WORD(40), 0x780); /* itaboffset, itabsize */
		go_image_put64(&m, WORD(41), 0x60);
		go_image_put_pointer(&m, WORD(42), TYPES - 0x100);
		go_image_put_pointer(&m, WORD(43), GO_IMAGE_PCLNTAB + 0xa00);
		assert_int_equal(find(&m, &d), 0);
		check_places(&d);
		assert_int_equal(d.gofunc, GO_IMAGE_PCLNTAB + 0xa00);
		assert_int_equal(d.itabs, TYPES + 0x780);
		assert_int_equal(d.itabs_end, TYPES + 0x7e0);
		assert_int_equal(d.itab_link_count, 0);
		/* Tables that would end past the types. */
		go_image_put64(&m, WORD(41), 0x181);
		check_without_itabs(&m);
		go_image_put64(&m, WORD(41), UINT64_MAX);
		check_without_itabs(&m);
		go_image_put64(&m, WORD(40), 0x901);
		go_image_put64(&m, WORD(41), 0);
		check_without_itabs(&m);
	}
}

/* A word that happens to equal pclntab's address is passed over. */
static void test_decoys(void **state)
{
	static struct go_image m;
	struct moduledata d;

	go_image_open(&m, false);
	put_header(&m, GO_MAGIC_1_20);
	put_text(&m, 22);
	go_image_put_pointer(&m, WORD(37), TYPES);
	go_image_put_pointer(&m, WORD(38), TYPES + 0x900);
	for (uint64_t at = GO_IMAGE_DATA; at < GO_IMAGE_DATA + 0x80; at += 8)
		go_image_put64(&m, at, GO_IMAGE_PCLNTAB);
	assert_int_equal(find(&m, &d), 0);
	assert_int_equal(d.address, GO_IMAGE_MODULE);
	/* All the words of one are gone: nothing is left but decoys. */
	go_image_put64(&m, WORD(4), 1);
	assert_int_equal(find(&m, &d), -ENOENT);
}

static void test_malformed(void **state)
{
	static struct go_image m;
	struct moduledata d;

	go_image_open(&m, false);
	assert_int_equal(find(&m, &d), -EINVAL); /* no pclntab there */
	put_header(&m, GO_MAGIC_1_20);
	put_text(&m, 22);
	go_image_put64(&m, WORD(37), TYPES);
	go_image_put64(&m, WORD(38), TYPES); /* no types at all */
	assert_int_equal(find(&m, &d), -EINVAL);
	go_image_put64(&m, WORD(38), TYPES + 8);
	go_image_put64(&m, WORD(23), TEXT - 1); /* text that ends before it begins */
	assert_int_equal(find(&m, &d), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_layout),
		cmocka_unit_test(test_go_1_27),
		cmocka_unit_test(test_decoys),
		cmocka_unit_test(test_malformed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
