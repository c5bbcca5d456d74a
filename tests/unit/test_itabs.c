/* SPDX-License-Identifier: Apache-2.0 */
/* Interface tables of spans and contexts among others, in a list and in a row. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "go_image.h"
#include "gobinary/block_cache.h"
#include "gobinary/elf_image.h"
#include "gobinary/itabs.h"
#include "gobinary/moduledata.h"

struct scene {
	struct go_image image;
	uint64_t context, other; /* interfaces of 4 and of 0 methods */
	uint64_t span, value;	 /* pointers */
	uint64_t root, foreign;
};

/* Types: a span, a context made from another, one that is not, one of another package. */
static void scene_open(struct scene *s, bool pie)
{
	struct go_image *m = &s->image;

	go_image_open(m, pie);
	s->context = go_image_add_interface(m, "*context.Context", "context", 4);
	s->other = go_image_add_interface(m, "*trace.Span", "otel/trace", 0);
	const struct go_image_field parent = {"Context", s->context, 0};

	go_image_add_struct(m, "*trace.recordingSpan", "sdk/trace", 8, NULL, 0, 0, false, &s->span);
	go_image_add_struct(m, "*context.valueCtx", "context", 48, &parent, 1, 0, false, &s->value);
	go_image_add_struct(m, "*context.todoCtx", "context", 0, NULL, 0, 0, false, &s->root);
	go_image_add_struct(m, "*gin.Context", "gin", 48, &parent, 1, 0, false, &s->foreign);
}

static uint64_t add_kind(struct scene *s, const char *name)
{
	const struct go_image_field parent = {"Context", s->context, 0};
	uint64_t pointer;

	go_image_add_struct(&s->image, name, "context", 64, &parent, 1, 0, false, &pointer);
	return pointer;
}

static struct moduledata links_of(const struct scene *s)
{
	return (struct moduledata){.types = GO_IMAGE_DATA,
				   .etypes = GO_IMAGE_TYPES_END,
				   .itab_links = GO_IMAGE_LINKS,
				   .itab_link_count = s->image.itab_count};
}

static struct moduledata row_of(const struct scene *s)
{
	return (struct moduledata){.types = GO_IMAGE_DATA,
				   .etypes = GO_IMAGE_TYPES_END,
				   .itabs = GO_IMAGE_ITABS,
				   .itabs_end = s->image.itabs_at};
}

static void find(struct scene *s, const struct moduledata *module, struct go_itabs *out)
{
	struct block_cache *cache;
	struct elf_image *image;
	int fd;

	if (s->image.pie)
		go_image_put_dynamic(&s->image);
	fd = go_image_file(&s->image);
	assert_int_equal(block_cache_open(1 << 20, &cache), 0);
	assert_int_equal(elf_image_open(fd, cache, &image), 0);
	alarm(10);
	itabs_find(image, module, s->span, s->context, out);
	alarm(0);
	elf_image_close(image);
	block_cache_close(cache);
	close(fd);
}

static void check_nothing(struct scene *s, const struct moduledata *module)
{
	struct go_itabs found = {.span_count = 1, .context_count = 1};

	find(s, module, &found);
	assert_int_equal(found.span_count, 0);
	assert_int_equal(found.context_count, 0);
}

static void check_kinds(bool pie)
{
	static struct scene s;
	uint64_t span, read_only, value, cancel;

	scene_open(&s, pie);
	go_image_add_itab(&s.image, s.other, s.root, 0);
	go_image_add_itab(&s.image, s.context, s.root, 4);
	span = go_image_add_itab(&s.image, s.other, s.span, 0);
	cancel = go_image_add_itab(&s.image, s.context, add_kind(&s, "*context.cancelCtx"), 4);
	go_image_add_itab(&s.image, s.context, s.foreign, 4);
	value = go_image_add_itab(&s.image, s.context, s.value, 4);
	/* As another interface it is no context; a span is one as any. */
	go_image_add_itab(&s.image, s.other, s.value, 0);
	read_only = go_image_add_itab(&s.image, s.context, s.span, 4);
	for (int row = 0; row < 2; row++) {
		struct moduledata module = row ? row_of(&s) : links_of(&s);
		struct go_itabs found;

		find(&s, &module, &found);
		assert_int_equal(found.span_count, 2);
		assert_int_equal(found.span[0], span);
		assert_int_equal(found.span[1], read_only);
		assert_int_equal(found.context_count, 2);
		assert_int_equal(found.context[0], cancel);
		assert_int_equal(found.context[1], value);
	}
}

static void test_kinds(void **state)
{
	check_kinds(false);
	check_kinds(true);
}

/* Types that were not found are looked for nowhere: a zero word is none of them. */
static void test_unknown_types(void **state)
{
	static struct scene s;
	struct moduledata module;
	struct go_itabs found;
	uint64_t context, span;

	scene_open(&s, false);
	go_image_add_itab(&s.image, 0, 0, 0);
	go_image_add_itab(&s.image, s.context, s.value, 4);
	go_image_add_itab(&s.image, s.other, s.span, 0);
	module = links_of(&s);
	context = s.context;
	span = s.span;
	s.context = 0;
	find(&s, &module, &found);
	assert_int_equal(found.span_count, 1);
	assert_int_equal(found.context_count, 0);
	s.context = context;
	s.span = 0;
	find(&s, &module, &found);
	assert_int_equal(found.span_count, 0);
	assert_int_equal(found.context_count, 1);
	s.context = 0;
	check_nothing(&s, &module);
	s.context = context;
	s.span = span;
	module = (struct moduledata){.types = module.types, .etypes = module.etypes};
	check_nothing(&s, &module);
}

/* More than there is room for, and one table many times. */
static void test_caps(void **state)
{
	static struct scene s;
	struct moduledata module;
	struct go_itabs found;
	uint64_t first, value;

	scene_open(&s, false);
	first = go_image_add_itab(&s.image, s.other, s.span, 0);
	for (size_t i = 0; i < 2 * GO_SPAN_ITABS_MAX; i++)
		go_image_put64(&s.image, GO_IMAGE_LINKS + 8 * s.image.itab_count++, first);
	value = go_image_add_itab(&s.image, s.context, s.value, 4);
	module = links_of(&s);
	find(&s, &module, &found);
	assert_int_equal(found.span_count, 1);
	assert_int_equal(found.context_count, 1);
	assert_int_equal(found.context[0], value);
	for (size_t i = 0; i < 2 * GO_SPAN_ITABS_MAX; i++)
		go_image_add_itab(&s.image, s.other, s.span, 0);
	for (size_t i = 0; i < GO_CONTEXT_ITABS_MAX; i++)
		go_image_add_itab(&s.image, s.context, s.value, 4);
	module = links_of(&s);
	find(&s, &module, &found);
	assert_int_equal(found.span_count, GO_SPAN_ITABS_MAX);
	assert_int_equal(found.span[0], first);
	assert_int_equal(found.context_count, GO_CONTEXT_ITABS_MAX);
}

/* Counts and addresses that lie end the search; what was found before stays. */
static void test_hostile_links(void **state)
{
	static struct scene s;
	struct moduledata module;
	struct go_itabs found;

	scene_open(&s, false);
	go_image_add_itab(&s.image, s.other, s.span, 0);
	module = links_of(&s);
	module.itab_link_count = UINT64_MAX;
	find(&s, &module, &found);
	assert_int_equal(found.span_count, 1);
	module.itab_links = 8;
	check_nothing(&s, &module);
	module.itab_links = UINT64_MAX - 4;
	check_nothing(&s, &module);
	module = links_of(&s);
	go_image_put64(&s.image, GO_IMAGE_LINKS, UINT64_MAX - 8);
	check_nothing(&s, &module);
}

static void test_hostile_row(void **state)
{
	static struct scene s;
	struct moduledata module;
	struct go_itabs found;

	scene_open(&s, true);
	go_image_add_itab(&s.image, s.other, s.span, 0);
	go_image_add_itab(&s.image, s.context, s.value, 4);
	module = row_of(&s);
	module.itabs_end = UINT64_MAX;
	find(&s, &module, &found);
	assert_int_equal(found.span_count, 1);
	assert_int_equal(found.context_count, 1);
	/* More methods than an interface has: the next table's place is not known. */
	go_image_put64(&s.image, s.other + 64, UINT64_MAX / 8);
	find(&s, &module, &found);
	assert_int_equal(found.span_count, 1);
	assert_int_equal(found.context_count, 0);
	module.itabs = module.itabs_end - 8;
	check_nothing(&s, &module);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_kinds),	    cmocka_unit_test(test_unknown_types),
		cmocka_unit_test(test_caps),	    cmocka_unit_test(test_hostile_links),
		cmocka_unit_test(test_hostile_row),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
