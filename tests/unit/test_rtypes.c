/* SPDX-License-Identifier: Apache-2.0 */
/* Structures and their fields from type descriptors made by hand. */
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
#include "gobinary/rtypes.h"

#define SDK "go.opentelemetry.io/otel/sdk/trace"

struct opened {
	struct block_cache *cache;
	struct elf_image *image;
	struct moduledata module;
	int fd;
};

static void image_open(struct go_image *m, struct opened *o)
{
	if (m->pie)
		go_image_put_dynamic(m);
	o->fd = go_image_file(m);
	o->module = (struct moduledata){.types = GO_IMAGE_DATA, .etypes = GO_IMAGE_TYPES_END};
	assert_int_equal(block_cache_open(1 << 20, &o->cache), 0);
	assert_int_equal(elf_image_open(o->fd, o->cache, &o->image), 0);
}

static void image_close(struct opened *o)
{
	elf_image_close(o->image);
	block_cache_close(o->cache);
	close(o->fd);
}

static uint64_t add_span(struct go_image *m, const char *package, unsigned int shift, bool old,
			 uint64_t *pointer)
{
	const struct go_image_field fields[] = {{"mu", 0, 8}, {"name", 0, 96}, {"tracer", 0, 400}};

	return go_image_add_struct(m, "*trace.recordingSpan", package, 440, fields, 3, shift, old,
				   pointer);
}

static void check_span(struct go_image *m, uint64_t type, uint64_t pointer, const char *package)
{
	struct rtype_query q[] = {{.name = "runtime.g", .package = "runtime"},
				  {.name = "trace.recordingSpan", .package = SDK}};
	struct opened o;
	uint16_t offset;

	image_open(m, &o);
	assert_int_equal(rtypes_find(o.image, &o.module, q, 2), 0);
	assert_int_equal(q[0].type, 0);
	assert_int_equal(q[1].type, type);
	assert_int_equal(q[1].pointer, pointer);
	assert_string_equal(q[1].found, package);
	assert_int_equal(rtypes_find_field(o.image, type, "name", &offset, NULL), 0);
	assert_int_equal(offset, 96);
	assert_int_equal(rtypes_find_field(o.image, type, "tracer", &offset, NULL), 0);
	assert_int_equal(offset, 400);
	assert_int_equal(rtypes_find_field(o.image, type, "nam", &offset, NULL), -ENOENT);
	image_close(&o);
}

static void test_struct_by_name(void **state)
{
	static struct go_image m;

	for (int i = 0; i < 8; i++) {
		uint64_t type, pointer;

		go_image_open(&m, i & 1);
		type = add_span(&m, SDK, i >> 1 & 1, i >> 2, &pointer);
		check_span(&m, type, pointer, SDK);
	}
}

static void test_vendored(void **state)
{
	static struct go_image m;
	const char *vendored = "example.com/a/very/long/import/path/of/some/company/that/likes/"
			       "nesting/its/modules/deeply/vendor/" SDK;
	uint64_t type, pointer, plain, plain_pointer;

	assert_true(strlen(vendored) > 127);
	go_image_open(&m, false);
	/* Another package's structure of that name, and one whose path only ends alike. */
	add_span(&m, "example.com/trace", 0, false, NULL);
	add_span(&m, "example.com/not" SDK, 0, false, NULL);
	type = add_span(&m, vendored, 0, false, &pointer);
	check_span(&m, type, pointer, vendored);
	/* Of two copies the unvendored one is taken, before or after the other. */
	plain = add_span(&m, SDK, 0, false, &plain_pointer);
	check_span(&m, plain, plain_pointer, SDK);
	add_span(&m, vendored, 0, false, &pointer);
	check_span(&m, plain, plain_pointer, SDK);
}

/* The structure's own descriptor may be dead: only the pointer to it bears the name. */
static void test_only_pointer_named(void **state)
{
	static struct go_image m;
	uint64_t type, pointer;

	go_image_open(&m, true);
	type = add_span(&m, SDK, 0, false, &pointer);
	go_image_put32(&m, type + 40, 0);
	check_span(&m, type, pointer, SDK);
}

/* Names and descriptors that lie across the pieces of the scan, in whatever place, are found. */
static void test_piece_borders(void **state)
{
	const size_t piece = 131072, head = 0x1000, size = GO_IMAGE_END - GO_IMAGE_DATA;
	uint8_t *file = calloc(1, head + piece + size);
	static struct go_image m;

	assert_non_null(file);
	for (size_t before = piece - 0x200; before <= piece; before += 8) {
		struct rtype_query q = {.name = "trace.recordingSpan", .package = SDK};
		Elf64_Phdr load = {.p_type = PT_LOAD,
				   .p_flags = PF_R,
				   .p_offset = head,
				   .p_vaddr = GO_IMAGE_DATA - before};
		uint64_t type, pointer;
		struct opened o;

		go_image_open(&m, false);
		m.types = GO_IMAGE_DATA - before;
		type = add_span(&m, SDK, 0, false, &pointer);
		load.p_filesz = load.p_memsz = before + size;
		memcpy(file, m.data, sizeof(Elf64_Ehdr));
		((Elf64_Ehdr *)(void *)file)->e_phnum = 1;
		memcpy(file + sizeof(Elf64_Ehdr), &load, sizeof(load));
		memcpy(file + head + before, m.data + (GO_IMAGE_DATA - GO_IMAGE_BASE), size);
		o.fd = memfd_create("types", MFD_CLOEXEC);
		assert_int_equal(write(o.fd, file, head + before + size), head + before + size);
		o.module = (struct moduledata){.types = m.types, .etypes = GO_IMAGE_TYPES_END};
		assert_int_equal(block_cache_open(1 << 20, &o.cache), 0);
		assert_int_equal(elf_image_open(o.fd, o.cache, &o.image), 0);
		assert_int_equal(rtypes_find(o.image, &o.module, &q, 1), 0);
		assert_int_equal(q.type, type);
		assert_int_equal(q.pointer, pointer);
		image_close(&o);
	}
	free(file);
}

/* A structure and an interface of one name: the query says which. */
static void test_interface(void **state)
{
	static struct go_image m;

	for (int pie = 0; pie < 2; pie++) {
		struct rtype_query q[] = {
			{.name = "context.Context", .package = "context", .interface = true},
			{.name = "context.Context", .package = "context"},
			{.name = "trace.Span", .package = SDK}};
		uint64_t interface, structure;
		struct opened o;

		go_image_open(&m, pie);
		go_image_add_interface(&m, "*context.Context", "golang.org/x/net/context", 4);
		interface = go_image_add_interface(&m, "*context.Context", "context", 4);
		structure = go_image_add_struct(&m, "*context.Context", "context", 8, NULL, 0, 0,
						false, NULL);
		go_image_add_interface(&m, "*trace.Span", SDK, 9);
		image_open(&m, &o);
		assert_int_equal(rtypes_find(o.image, &o.module, q, 3), 0);
		assert_int_equal(q[0].type, interface);
		assert_int_equal(q[1].type, structure);
		assert_int_equal(q[2].type, 0);
		image_close(&o);
	}
}

/*
 * Up to Go 1.18 the word of a field is twice its offset, which a small structure does not show by
 * where its last field begins, but by where it ends.
 */
static void test_small_structure(void **state)
{
	static struct go_image m;
	const struct go_image_field inner[] = {{"id", 0, 0}, {"code", 0, 60}};

	for (unsigned int shift = 0; shift < 2; shift++) {
		uint64_t inner_type, type;
		struct opened o;
		uint16_t offset;

		go_image_open(&m, false);
		inner_type = go_image_add_struct(&m, NULL, NULL, 64, inner, 2, shift, false, NULL);
		const struct go_image_field outer[] = {{"tracer", 0, 0}, {"sc", inner_type, 8}};

		type = go_image_add_struct(&m, NULL, NULL, 72, outer, 2, shift, false, NULL);
		image_open(&m, &o);
		assert_int_equal(rtypes_find_field(o.image, type, "sc", &offset, NULL), 0);
		assert_int_equal(offset, 8);
		assert_int_equal(rtypes_find_nested(o.image, type, "sc", "code", &offset), 0);
		assert_int_equal(offset, 68);
		assert_int_equal(rtypes_find_nested(o.image, type, "sc", "no", &offset), -ENOENT);
		assert_int_equal(rtypes_find_nested(o.image, type, "no", "code", &offset), -ENOENT);
		assert_int_equal(rtypes_find_nested(o.image, type, "tracer", "id", &offset),
				 -EINVAL);
		image_close(&o);
	}
}

/* Offsets that fit each by itself, but not together. */
static void test_nested_too_far(void **state)
{
	static struct go_image m;
	const struct go_image_field inner[] = {{"id", 0, 65000}};
	uint64_t inner_type, type;
	struct opened o;
	uint16_t offset = 1;

	go_image_open(&m, false);
	inner_type = go_image_add_struct(&m, NULL, NULL, 65001, inner, 1, 0, false, NULL);
	const struct go_image_field outer[] = {{"far", inner_type, 600}};

	type = go_image_add_struct(&m, NULL, NULL, 1u << 20, outer, 1, 0, false, NULL);
	image_open(&m, &o);
	assert_int_equal(rtypes_find_nested(o.image, type, "far", "id", &offset), -EINVAL);
	assert_int_equal(offset, 1);
	image_close(&o);
}

static uint64_t add_context(struct go_image *m, const char *package, uint64_t first,
			    unsigned int shift, uint64_t *pointer)
{
	/* Go 1.18's field word has the embedding's bit: shifted, the offset stays 0. */
	const struct go_image_field fields[] = {{"Context", first, 0}, {"mu", 0, 16}};
	uint64_t type = go_image_add_struct(m, "*context.someCtx", package, 48, fields, 2, shift,
					    false, pointer);
	uint64_t array = type - 2 * 24;

	go_image_put64(m, array + 16, shift);
	return type;
}

static void test_begins_with(void **state)
{
	static struct go_image m;

	for (unsigned int i = 0; i < 4; i++) {
		uint64_t interface, type, pointer, outer, foreign, by_pointer, itself, behind;
		const struct moduledata *module;
		struct elf_image *image;
		struct opened o;

		go_image_open(&m, i & 1);
		interface = go_image_add_interface(&m, "*context.Context", "context", 4);
		type = add_context(&m, "context", interface, i >> 1, &pointer);
		outer = add_context(&m, "context", type, i >> 1, NULL);
		foreign = add_context(&m, "net", interface, i >> 1, NULL);
		by_pointer = add_context(&m, "context", pointer, i >> 1, NULL);
		itself = add_context(&m, "context", 0, i >> 1, NULL);
		go_image_put_pointer(&m, itself - 2 * 24 + 8, itself);
		const struct go_image_field late[] = {{"Context", interface, 8}};

		behind = go_image_add_struct(&m, "*context.late", "context", 24, late, 1, i >> 1,
					     false, NULL);
		image_open(&m, &o);
		image = o.image;
		module = &o.module;
		assert_true(rtypes_begins_with(image, module, type, "context", interface));
		assert_true(rtypes_begins_with(image, module, pointer, "context", interface));
		assert_true(rtypes_begins_with(image, module, outer, "context", interface));
		assert_false(rtypes_begins_with(image, module, foreign, "context", interface));
		assert_false(rtypes_begins_with(image, module, by_pointer, "context", interface));
		assert_false(rtypes_begins_with(image, module, itself, "context", interface));
		assert_false(rtypes_begins_with(image, module, behind, "context", interface));
		assert_false(rtypes_begins_with(image, module, interface, "context", interface));
		assert_false(rtypes_begins_with(image, module, 8, "context", interface));
		assert_false(rtypes_begins_with(image, module, GO_IMAGE_TYPES_END - 8, "context",
						interface));
		image_close(&o);
	}
}

static void test_malformed(void **state)
{
	static struct go_image m;
	struct rtype_query q = {.name = "trace.recordingSpan", .package = SDK};
	uint64_t type, pointer;
	struct opened o;
	uint16_t offset;

	go_image_open(&m, false);
	type = add_span(&m, SDK, 0, false, &pointer);
	go_image_put64(&m, type + 64, 1u << 20); /* fields beyond reason */
	image_open(&m, &o);
	assert_int_equal(rtypes_find_field(o.image, type, "name", &offset, NULL), -EINVAL);
	assert_int_equal(rtypes_find_field(o.image, pointer, "name", &offset, NULL), -EINVAL);
	assert_int_equal(rtypes_find_field(o.image, 8, "name", &offset, NULL), -EINVAL);
	o.module.etypes = o.module.types;
	assert_int_equal(rtypes_find(o.image, &o.module, &q, 1), -EINVAL);
	o.module.etypes = o.module.types + (1ull << 40);
	assert_int_equal(rtypes_find(o.image, &o.module, &q, 1), -EINVAL);
	o.module.etypes = GO_IMAGE_END + 0x1000; /* past the segment */
	assert_int_equal(rtypes_find(o.image, &o.module, &q, 1), -EINVAL);
	image_close(&o);
	go_image_put64(&m, type + 64, 3);
	go_image_put64(&m, type + 56, 8); /* fields that are not in the file */
	image_open(&m, &o);
	assert_int_equal(rtypes_find_field(o.image, type, "name", &offset, NULL), -ENOENT);
	image_close(&o);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_struct_by_name),	   cmocka_unit_test(test_vendored),
		cmocka_unit_test(test_only_pointer_named), cmocka_unit_test(test_piece_borders),
		cmocka_unit_test(test_interface),	   cmocka_unit_test(test_small_structure),
		cmocka_unit_test(test_nested_too_far),	   cmocka_unit_test(test_begins_with),
		cmocka_unit_test(test_malformed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
