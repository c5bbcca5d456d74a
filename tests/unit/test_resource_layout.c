/* SPDX-License-Identifier: Apache-2.0 */
/* The way from a span to its resource, from type descriptors made by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "go_image.h"
#include "gobinary/block_cache.h"
#include "gobinary/elf_image.h"
#include "gobinary/moduledata.h"
#include "gobinary/resource_layout.h"

#define SDK "go.opentelemetry.io/otel/sdk/"
#define API "go.opentelemetry.io/otel/attribute"

/* What is otherwise than in an SDK; all zero: nothing is. */
struct twist {
	bool older;	      /* the interface lies one structure deeper */
	unsigned int shift;   /* field words as of Go 1.18 */
	const char *tracer;   /* another name of that structure */
	const char *set;      /* … */
	const char *attrs;    /* another name of that field */
	bool by_value;	      /* the tracer's provider is no pointer */
	bool two;	      /* interfaces in a set */
	bool none;	      /* … */
	bool methods;	      /* the interface has some */
	uint64_t resource_at; /* offset in the provider; 0: as ever */
	uint64_t text_at;     /* … of a value's text */
};

struct made {
	uint64_t span, pair, provider;
};

static uint64_t add_set(struct go_image *m, const struct twist *t)
{
	uint64_t any = go_image_add_interface(m, "*interface {}", "", t->methods);
	uint64_t number = go_image_add_type(m, 12, 0, 0, 8, 48);
	const struct go_image_field distinct[] = {{"iface", any, 0}};
	uint64_t inner = go_image_add_struct(m, "*attribute.Distinct", API, 16, distinct, 1,
					     t->shift, false, NULL);
	const struct go_image_field older[] = {{"equivalent", inner, 0}};
	const struct go_image_field newer[] = {
		{"hash", number, 0}, {"data", t->none ? number : any, 8}, {"more", any, 24}};
	const char *name = t->set ? t->set : "*attribute.Set";

	if (t->older)
		return go_image_add_struct(m, name, API, 16, older, 1, t->shift, false, NULL);
	return go_image_add_struct(m, name, API, t->two ? 40 : 24, newer, t->two ? 3 : 2, t->shift,
				   false, NULL);
}

static uint64_t add_pair(struct go_image *m, const struct twist *t)
{
	uint64_t text_at = t->text_at ? t->text_at : 24;
	const struct go_image_field value[] = {{"vtype", 0, 8}, {"stringly", 0, text_at}};
	uint64_t value_type = go_image_add_struct(m, "*attribute.Value", API, text_at + 16, value,
						  2, t->shift, false, NULL);
	const struct go_image_field pair[] = {{"Key", 0, 0}, {"Value", value_type, 24}};

	return go_image_add_struct(m, "*attribute.KeyValue", API, 64, pair, 2, t->shift, false,
				   NULL);
}

static struct made add_all(struct go_image *m, const struct twist *t)
{
	const struct go_image_field resource[] = {
		{"schemaURL", 0, 0}, {t->attrs ? t->attrs : "attrs", add_set(m, t), 16}};
	struct made made = {.pair = add_pair(m, t)};
	uint64_t pointer, type, at = t->resource_at ? t->resource_at : 80;

	go_image_add_struct(m, "*resource.Resource", SDK "resource", 40, resource, 2, t->shift,
			    false, &pointer);
	const struct go_image_field provider[] = {{"mu", 0, 0}, {"resource", pointer, at}};

	type = go_image_add_struct(m, "*trace.TracerProvider", SDK "trace", at + 8, provider, 2,
				   t->shift, false, &pointer);
	made.provider = pointer;
	const struct go_image_field tracer[] = {{"provider", t->by_value ? type : pointer, 16}};

	go_image_add_struct(m, t->tracer ? t->tracer : "*trace.tracer", SDK "trace", 24, tracer, 1,
			    t->shift, false, &pointer);
	const struct go_image_field span[] = {{"name", 0, 8}, {"tracer", pointer, 320}};

	made.span = go_image_add_struct(m, "*trace.recordingSpan", SDK "trace", 328, span, 2,
					t->shift, false, NULL);
	return made;
}

static struct go_resource_layout find(const struct twist *twist, bool pie, bool has_pair)
{
	const struct moduledata module = {.types = GO_IMAGE_DATA, .etypes = GO_IMAGE_TYPES_END};
	static struct go_image m;
	struct go_resource_layout found;
	struct block_cache *cache;
	struct elf_image *image;
	struct made made;
	int fd;

	go_image_open(&m, pie);
	made = add_all(&m, twist);
	go_image_put_dynamic(&m);
	fd = go_image_file(&m);
	assert_int_equal(block_cache_open(1 << 20, &cache), 0);
	assert_int_equal(elf_image_open(fd, cache, &image), 0);
	memset(&found, 0xa5, sizeof(found));
	resource_layout_find(image, &module,
			     &(struct resource_layout_types){
				     .span = made.span,
				     .pair = has_pair ? made.pair : 0,
				     .holder = 8,
			     },
			     &found);
	if (found.pair_type) {
		assert_int_equal(found.pair_type, made.pair);
		assert_int_equal(found.provider_type, made.provider);
		assert_int_equal(found.holder_type, 8);
	}
	elf_image_close(image);
	block_cache_close(cache);
	close(fd);
	return found;
}

static void test_found(void **state)
{
	for (unsigned int i = 0; i < 8; i++) {
		const struct twist twist = {.older = i & 1, .shift = i >> 1 & 1};
		struct go_resource_layout r = find(&twist, i >> 2, true);

		assert_int_not_equal(r.pair_type, 0);
		assert_int_equal(r.tracer, 320);
		assert_int_equal(r.provider, 16);
		assert_int_equal(r.resource, 80);
		assert_int_equal(r.set, twist.older ? 16 : 24);
		assert_int_equal(r.key, 0);
		assert_int_equal(r.value_type, 32);
		assert_int_equal(r.value_text, 48);
		assert_int_equal(r.pair_size, 64);
	}
}

/* Where a step is not as it should be there is no way at all. */
static void test_not_found(void **state)
{
	static const struct go_resource_layout nothing;
	static const struct twist twists[] = {
		{.tracer = "*trace.tracers"},
		{.tracer = "*trace.trace"},
		{.set = "*attribute.Sets"},
		{.attrs = "attributes"},
		{.by_value = true},
		{.two = true},
		{.none = true},
		{.methods = true},
		{.older = true, .methods = true},
		{.resource_at = 84},
		{.resource_at = 4104},
		{.text_at = 56},
		{.text_at = 28},
	};
	struct go_resource_layout r;

	for (size_t i = 0; i < sizeof(twists) / sizeof(*twists); i++) {
		r = find(&twists[i], i & 1, true);
		assert_memory_equal(&r, &nothing, sizeof(r));
	}
	r = find(&(struct twist){0}, true, false);
	assert_memory_equal(&r, &nothing, sizeof(r));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_found),
		cmocka_unit_test(test_not_found),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
