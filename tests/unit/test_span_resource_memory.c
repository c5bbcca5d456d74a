/* SPDX-License-Identifier: Apache-2.0 */
/* From spans to what their service says of itself, in our own memory, every word of which may lie.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <sys/mman.h>
#include <unistd.h>

#include "gobinary/gobinary.h"
#include "process/identity.h"
#include "process/process.h"
#include "process/span_resource.h"

#define PAIR_WORDS 8

struct scene {
	struct process *self;
	struct {
		uint64_t unused, tracer;
	} span;
	struct {
		uint64_t provider;
	} tracer;
	struct {
		uint64_t unused[2], resource;
	} provider;
	struct {
		uint64_t unused, set_type, set_data;
	} resource;
	uint8_t array[72], pair_type[8];
	uint64_t pairs[2][PAIR_WORDS];
	uint64_t variables[2], held[2], holder[2], itab[2];
	struct go_resource_layout at;
};

static void assert_is(const struct identity *id, const char *key, const char *value)
{
	assert_string_equal(identity_get(id, key), value);
}

static uint64_t address_of(const void *pointer)
{
	return (uint64_t)(uintptr_t)pointer;
}

static void set_array(struct scene *s, uint8_t kind, uint64_t element, uint64_t count)
{
	s->array[23] = kind;
	memcpy(s->array + 48, &element, sizeof(element));
	memcpy(s->array + 64, &count, sizeof(count));
}

static void set_pair(struct scene *s, size_t i, const char *key, const char *value)
{
	const uint64_t words[PAIR_WORDS] = {address_of(key),   strlen(key),  4, 0,
					    address_of(value), strlen(value)};

	memcpy(s->pairs[i], words, sizeof(words));
}

/* The array's kind has other bits beside it. */
static int set_scene(void **state)
{
	struct scene *s = calloc(1, sizeof(*s));

	assert_int_equal(process_open(getpid(), &s->self), 0);
	s->at = (struct go_resource_layout){
		.tracer = 8,
		.resource = 16,
		.set = 8,
		.value_type = 16,
		.value_text = 32,
		.pair_size = 64,
		.pair_type = address_of(s->pair_type) - 0x1000,
		.global_count = 2,
		.globals = {address_of(&s->variables[0]) - 0x1000,
			    address_of(&s->variables[1]) - 0x1000},
		.holder_type = 0x5000,
		.provider_type = 0x7000,
	};
	s->variables[1] = address_of(s->held);
	s->held[0] = 0x6000;
	s->held[1] = address_of(s->holder);
	s->holder[0] = address_of(s->itab);
	s->holder[1] = address_of(&s->provider);
	s->itab[1] = 0x8000;
	s->span.tracer = address_of(&s->tracer);
	s->tracer.provider = address_of(&s->provider);
	s->provider.resource = address_of(&s->resource);
	s->resource.set_type = address_of(s->array);
	s->resource.set_data = address_of(s->pairs);
	set_array(s, 17 | 0xe0, address_of(s->pair_type), 2);
	set_pair(s, 0, "service.name", "mine");
	set_pair(s, 1, "service.version", "2");
	*state = s;
	return 0;
}

static int clear_scene(void **state)
{
	struct scene *s = *state;

	process_close(s->self);
	free(s);
	return 0;
}

/* With the bias by which the descriptor of a pair was moved. */
static int find_here(struct scene *s, struct span_resource *r)
{
	return span_resource_find(s->self, &s->at, 0x1000, address_of(&s->span), r);
}

static int read_here(struct scene *s, struct identity *id)
{
	struct span_resource r;
	int error = find_here(s, &r);

	return error ? error : span_resource_read(s->self, &s->at, &r, id);
}

static void test_own_memory(void **state)
{
	struct scene *s = *state;
	struct span_resource r;
	struct identity id;

	assert_int_equal(find_here(s, &r), 0);
	assert_int_equal(r.address, address_of(&s->resource));
	assert_int_equal(r.pairs, address_of(s->pairs));
	assert_int_equal(r.pair_count, 2);
	assert_int_equal(read_here(s, &id), 0);
	assert_int_equal(id.count, 2);
	assert_is(&id, "service.name", "mine");
	assert_is(&id, "service.version", "2");
	/* Of equal keys the first. */
	set_pair(s, 1, "service.name", "other");
	assert_int_equal(read_here(s, &id), 0);
	assert_int_equal(id.count, 1);
	assert_is(&id, "service.name", "mine");
}

/* Each pointer in turn leads nowhere, to what is not aligned, and to what cannot be read. */
static void test_pointers_that_lie(void **state)
{
	struct scene *s = *state;
	uint64_t *const pointers[] = {&s->span.tracer, &s->tracer.provider, &s->provider.resource,
				      &s->resource.set_type};
	static const uint64_t bad[] = {
		0, 1, 8, 0xfffffffffffffff8, 0x7ffffffffff8, 0xffff888000000000};
	struct span_resource r;

	for (size_t i = 0; i < sizeof(pointers) / sizeof(*pointers); i++)
		for (size_t k = 0; k < sizeof(bad) / sizeof(*bad); k++) {
			uint64_t right = *pointers[i];
			int error;

			*pointers[i] = bad[k];
			error = find_here(s, &r);
			assert_true(error == -EFAULT || error == -EINVAL);
			assert_int_equal(r.address, 0);
			*pointers[i] = right;
		}
	/* In a circle it goes as far as there are steps. */
	s->span.tracer = s->tracer.provider = s->provider.resource = address_of(&s->span);
	assert_int_not_equal(find_here(s, &r), 0);
	s->at.pair_type = 0;
	assert_int_equal(find_here(s, &r), -ENOTSUP);
}

/* Each word on the way from a variable to a provider. */
static void test_globals_that_lie(void **state)
{
	struct scene *s = *state;
	uint64_t *const words[] = {&s->variables[1], &s->held[0], &s->held[1], &s->holder[0],
				   &s->itab[1]};
	struct span_resource by_span, r;

	assert_int_equal(find_here(s, &by_span), 0);
	assert_int_equal(span_resource_find(s->self, &s->at, 0x1000, 0, &r), 0);
	assert_memory_equal(&r, &by_span, sizeof(r));
	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++) {
		uint64_t right = *words[i];

		*words[i] = right + 8;
		assert_int_equal(span_resource_find(s->self, &s->at, 0x1000, 0, &r), -ENOENT);
		*words[i] = 0xffff888000000000;
		assert_int_equal(span_resource_find(s->self, &s->at, 0x1000, 0, &r), -ENOENT);
		*words[i] = right;
	}
	s->holder[1] = 8; /* the provider */
	assert_int_equal(span_resource_find(s->self, &s->at, 0x1000, 0, &r), -EFAULT);
	s->at.global_count = 0;
	assert_int_equal(span_resource_find(s->self, &s->at, 0x1000, 0, &r), -ENOENT);
}

static void test_types_that_lie(void **state)
{
	struct scene *s = *state;
	uint64_t pair = address_of(s->pair_type);
	struct span_resource r;

	set_array(s, 23, pair, 2); /* a slice */
	assert_int_equal(find_here(s, &r), -EINVAL);
	set_array(s, 17, pair + 8, 2);
	assert_int_equal(find_here(s, &r), -EINVAL);
	set_array(s, 17, pair, 4096);
	assert_int_equal(find_here(s, &r), -EINVAL);
	set_array(s, 17, pair, UINT64_MAX);
	assert_int_equal(find_here(s, &r), -EINVAL);
	set_array(s, 17, pair, 4095);
	assert_int_equal(find_here(s, &r), 0);
	assert_int_equal(r.pair_count, 4095);
}

static void test_texts_that_lie(void **state)
{
	struct scene *s = *state;
	struct identity id;

	s->pairs[0][1] = UINT64_MAX; /* a key's size */
	assert_int_equal(read_here(s, &id), 0);
	assert_int_equal(id.count, 1);
	assert_is(&id, "service.version", "2");
	set_pair(s, 0, "service.name", "mine");
	s->pairs[0][0] = 8; /* its place */
	assert_int_equal(read_here(s, &id), 0);
	assert_int_equal(id.count, 1);
	set_pair(s, 0, "service.name", "mine");
	s->pairs[0][5] = 1ull << 63; /* a value's size */
	assert_int_equal(read_here(s, &id), 0);
	assert_int_equal(id.count, 1);
	s->pairs[0][5] = 4096;
	assert_int_equal(read_here(s, &id), 0);
	assert_int_equal(id.count, 1);
	s->pairs[0][5] = 4;
	s->pairs[0][4] = 8; /* its place */
	assert_int_equal(read_here(s, &id), -EFAULT);
	set_pair(s, 0, "service.name", "mine");
	s->pairs[0][2] = 2; /* no text */
	assert_int_equal(read_here(s, &id), 0);
	assert_int_equal(id.count, 1);
	s->pairs[0][2] = 4 | 1ull << 32;
	assert_int_equal(read_here(s, &id), 0);
	assert_int_equal(id.count, 1);
}

/* The array goes on where memory ends. */
static void test_end_of_memory(void **state)
{
	struct scene *s = *state;
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	uint8_t *memory =
		mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct identity id;

	assert_ptr_not_equal(memory, MAP_FAILED);
	assert_int_equal(munmap(memory + page, page), 0);
	memcpy(memory + page - sizeof(s->pairs), s->pairs, sizeof(s->pairs));
	s->resource.set_data = address_of(memory + page - sizeof(s->pairs));
	assert_int_equal(read_here(s, &id), 0);
	assert_int_equal(id.count, 2);
	set_array(s, 17, address_of(s->pair_type), 3);
	assert_int_equal(read_here(s, &id), -EFAULT);
	munmap(memory, page);
}

/* Of an executable that says so: nothing beyond a pair is looked at. */
static void test_layout_that_lies(void **state)
{
	struct scene *s = *state;
	struct go_resource_layout right = s->at;
	struct identity id;

	s->at.value_text = 56;
	assert_int_equal(read_here(s, &id), -ENOTSUP);
	s->at = right;
	s->at.key = 64;
	assert_int_equal(read_here(s, &id), -ENOTSUP);
	s->at = right;
	s->at.pair_size = 264;
	assert_int_equal(read_here(s, &id), -ENOTSUP);
	s->at.pair_size = 0;
	assert_int_equal(read_here(s, &id), -ENOTSUP);
}

#define IN_SCENE(test) cmocka_unit_test_setup_teardown(test, set_scene, clear_scene)

int main(void)
{
	const struct CMUnitTest tests[] = {
		IN_SCENE(test_own_memory),	 IN_SCENE(test_pointers_that_lie),
		IN_SCENE(test_globals_that_lie), IN_SCENE(test_types_that_lie),
		IN_SCENE(test_texts_that_lie),	 IN_SCENE(test_end_of_memory),
		IN_SCENE(test_layout_that_lies),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
