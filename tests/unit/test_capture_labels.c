/* SPDX-License-Identifier: Apache-2.0 */
/* Spans by pprof labels, and by a map of another tool, on this kernel. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <bpf/bpf.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "fake_program.h"
#include "spanprof.skel.h"

#include "capture/context_map.h"

#define TRACE_ID "4bf92f3577b34da6a3ce929d0e0e4736"
#define SPAN_ID	 "00f067aa0ba902b7"
#define LABELS	 20
#define LOOKED	 8 /* of that many the first are looked at */

struct text {
	const char *start;
	uint64_t size;
};

/* As runtime/pprof keeps them: from Go 1.24 a slice, before a map. */
struct label {
	struct text key, value;
};

struct slice {
	const struct label *list;
	uint64_t count, capacity;
};

struct bucket {
	uint8_t top_hash[8];
	struct text keys[8], values[8];
};

struct map {
	uint64_t count;
	uint8_t flags, bucket_bits;
	uint16_t overflow;
	uint32_t seed;
	const struct bucket *buckets;
};

static struct label list[LABELS];
static struct slice slice;
static struct bucket bucket;
static struct map map;
static struct map *map_pointer;

static struct text text_of(const char *text)
{
	return (struct text){text, strlen(text)};
}

static void set_map(void)
{
	struct target_process target = fake_target(program->generation);

	target.flags |= TARGET_LABELS_MAP;
	assert_int_equal(capture_set_process(program->capture.capture, getpid(), &target), 0);
	map_pointer = &map;
	program->g.labels = &map_pointer;
}

static int begin_labels(void **state)
{
	begin(state);
	memset(list, 0, sizeof(list));
	memset(&bucket, 0, sizeof(bucket));
	slice = (struct slice){.list = list, .capacity = LABELS};
	map = (struct map){.buckets = &bucket};
	program->g.labels = &slice;
	return 0;
}

static void add(const char *key, const char *value)
{
	list[slice.count++] = (struct label){text_of(key), text_of(value)};
}

/* In the slots of the map from the given one on. */
static void add_to_map(size_t slot, const char *key, const char *value)
{
	bucket.top_hash[slot] = (uint8_t)(5 + slot);
	bucket.keys[slot] = text_of(key);
	bucket.values[slot] = text_of(value);
	map.count++;
}

/* A sample by labels: these values, and nothing else of a span. */
static void assert_labels(const char *trace_id, const char *span_id, const char *name, bool decimal)
{
	const struct sample_record *s = sampled();
	struct sample_span expected = {
		.source = SPAN_LABELS,
		.name_copied = sizeof(struct label_values),
	};
	struct label_values values = {
		.trace_id_size = (uint8_t)strlen(trace_id),
		.span_id_size = (uint8_t)strlen(span_id),
		.span_name_size = (uint8_t)strlen(name),
		.decimal = decimal,
	};

	memcpy(values.trace_id, trace_id, strlen(trace_id));
	memcpy(values.span_id, span_id, strlen(span_id));
	memcpy(values.span_name, name, strlen(name));
	memcpy(expected.name, &values, sizeof(values));
	assert_int_equal(s->flags & (SAMPLE_SPAN | SAMPLE_UNSAMPLED | SAMPLE_SPAN_UNREADABLE),
			 SAMPLE_SPAN);
	assert_memory_equal(&s->span, &expected, sizeof(expected));
}

static void assert_none(void)
{
	assert_no_span(sampled());
}

static void test_keys(void **state)
{
	struct target_counters before = counters();

	assert_none();
	add("span_name", "GET /");
	add("trace_id", TRACE_ID);
	assert_none(); /* what counts is the span's */
	assert_int_equal(counters().events[EVENT_SAMPLES_LABELS],
			 before.events[EVENT_SAMPLES_LABELS]);
	add("span_id", SPAN_ID);
	assert_labels(TRACE_ID, SPAN_ID, "GET /", false);
	assert_true(counters().events[EVENT_SAMPLES_LABELS] > before.events[EVENT_SAMPLES_LABELS]);
	/* dd-trace-go's. */
	slice.count = 0;
	add("local root span id", "1");
	add("span id", "18446744073709551615");
	add("trace endpoint", "GET /");
	assert_labels("", "18446744073709551615", "", true);
	/* Others that are like them. */
	slice.count = 0;
	add("span_id ", "1");
	add("span_ids", "2");
	add("span_i", "3");
	add("Span_id", "4");
	add("span-id", "5");
	add("trace_ids", "6");
	add("span_nam", "7");
	assert_none();
	add("span_id=", SPAN_ID);
	assert_none();
	list[slice.count - 1].key.size = 7; /* no NUL stands behind a string in Go */
	assert_labels("", SPAN_ID, "", false);
}

static void test_values(void **state)
{
	add("span_id", "");
	assert_none();
	slice.count = 0;
	add("span_name", "a name of no more than 40 bytes is taken as it is");
	add("span_id", "a number of no more than 20 bytes");
	add("trace_id", TRACE_ID "0123");
	assert_labels(TRACE_ID, "a number of no more ", "a name of no more than 40 bytes is taken",
		      false);
	/* A value elsewhere, and a key. */
	list[2].value.start = (char *)8;
	assert_labels("", "a number of no more ", "a name of no more than 40 bytes is taken",
		      false);
	list[0].key.start = (char *)8;
	assert_labels("", "a number of no more ", "", false);
	list[1].value.size = UINT64_MAX;
	assert_labels("", "a number of no more ", "", false);
	list[1].value.start = (char *)8;
	assert_none();
}

static void test_slices(void **state)
{
	struct target_process target = fake_target(program->generation);

	for (size_t i = 0; i < LOOKED; i++)
		add("tenant", "blue");
	add("span_id", SPAN_ID);
	assert_none();
	list[LOOKED - 1] = list[LOOKED];
	assert_labels("", SPAN_ID, "", false);
	slice.count = UINT64_MAX;
	assert_labels("", SPAN_ID, "", false);
	slice.count = LOOKED - 1;
	assert_none();
	slice.count = LOOKED;
	slice.list = (struct label *)8;
	assert_none();
	slice.list = list;
	program->g.labels = (void *)8;
	assert_none();
	program->g.labels = NULL;
	assert_none();
	program->g.labels = &slice;
	assert_labels("", SPAN_ID, "", false);
	/* Where they are in a g is not known. */
	target.g_labels = 0;
	assert_int_equal(capture_set_process(program->capture.capture, getpid(), &target), 0);
	assert_none();
}

static void test_maps(void **state)
{
	set_map();
	assert_none();
	add_to_map(1, "span_id", SPAN_ID);
	assert_labels("", SPAN_ID, "", false);
	add_to_map(7, "trace_id", TRACE_ID);
	add_to_map(0, "span_name", "GET /");
	add_to_map(3, "tenant", "blue");
	assert_labels(TRACE_ID, SPAN_ID, "GET /", false);
	/* Marks of empty slots are below 5: what stands there was deleted. */
	bucket.top_hash[7] = 4;
	assert_labels("", SPAN_ID, "GET /", false);
	bucket.top_hash[1] = 0;
	assert_none();
	bucket.top_hash[1] = 5;
	/* More than one bucket. */
	map.bucket_bits = 1;
	assert_none();
	map.bucket_bits = 0;
	map.buckets = (struct bucket *)8;
	assert_none();
	map.buckets = &bucket;
	map_pointer = NULL;
	assert_none();
	map_pointer = (struct map *)8;
	assert_none();
	map_pointer = &map;
	assert_labels("", SPAN_ID, "GET /", false);
	/* A slice where a map should be, and the other way round. */
	add("span_id", SPAN_ID);
	program->g.labels = &slice;
	assert_none();
	begin(state);
	program->g.labels = &map_pointer;
	assert_none();
}

/* The store knows better; a service without the SDK has its labels alone. */
static void test_own_span_first(void **state)
{
	static const uint64_t unsampled[4] = {0, 0xbbbb, 0xbbbb, 1};
	struct program *p = program;
	struct target_process target = fake_target(p->generation);
	struct capture_older_span older = {.address = ADDRESS(&p->spans[1])};

	add("span_id", SPAN_ID);
	fake_span_make(&p->spans[1], 0xaa, 2, "older");
	memcpy(older.span_id, p->spans[1].context.span_id, sizeof(older.span_id));
	assert_int_equal(capture_add_older(p->capture.capture, p->generation, ADDRESS(&p->g),
					   p->g.goid, &older, 1),
			 0);
	assert_span(sampled(), &p->spans[1], 0, SPAN_OLDER);
	p->spans[1].end_wall = 1;
	fake_span_make(&p->spans[0], 0xaa, 1, "own");
	fake_start(&p->spans[0], &p->g);
	assert_span(sampled(), &p->spans[0], 0, SPAN_OWN);
	fire_fake_with_value(0, 0, FAKE_UNSAMPLED_TYPE, ADDRESS(unsampled), &p->g);
	assert_none();
	p->spans[0].end_wall = 1;
	assert_labels("", SPAN_ID, "", false);
	target.flags &= ~TARGET_SPANS;
	assert_int_equal(capture_set_process(p->capture.capture, getpid(), &target), 0);
	assert_labels("", SPAN_ID, "", false);
	p->g.goid = 0;
	assert_none();
}

/* Our own descriptor of a map by its name. */
static int find_map(const char *name)
{
	for (int fd = 3; fd < 1024; fd++) {
		struct bpf_map_info info = {0};
		__u32 size = sizeof(info);

		if (!bpf_obj_get_info_by_fd(fd, &info, &size) && size == sizeof(info) &&
		    info.max_entries && !strcmp(info.name, name))
			return fd;
	}
	fail_msg("no map %s", name);
	return -1;
}

static void test_context_map(void **state)
{
	struct program *p = program;
	struct target_counters before = counters();
	uint64_t key = (uint64_t)getpid() << 32 | (uint32_t)syscall(SYS_gettid), other = key + 1;
	uint8_t value[24];
	const struct sample_record *s;
	int fd = find_map("traces_ctx_v1");

	for (uint8_t i = 0; i < sizeof(value); i++)
		value[i] = 0x40 + i;
	assert_int_equal(bpf_map_update_elem(fd, &other, value, BPF_ANY), 0);
	assert_none(); /* another thread's */
	assert_int_equal(bpf_map_delete_elem(fd, &other), 0);
	assert_int_equal(bpf_map_update_elem(fd, &key, value, BPF_ANY), 0);
	s = sampled();
	assert_int_equal(s->flags & SAMPLE_SPAN, SAMPLE_SPAN);
	assert_int_equal(s->span.source, SPAN_CONTEXT_MAP);
	assert_memory_equal(s->span.trace_id, value, 16);
	assert_memory_equal(s->span.span_id, value + 16, 8);
	assert_int_equal(s->span.trace_flags, 1);
	assert_int_equal(s->span.address, 0);
	assert_int_equal(s->span.name_size, 0);
	assert_true(counters().events[EVENT_SAMPLES_CONTEXT_MAP] >
		    before.events[EVENT_SAMPLES_CONTEXT_MAP]);
	/* Labels first, and what the store knows before them. */
	add("span_id", SPAN_ID);
	assert_labels("", SPAN_ID, "", false);
	fake_span_make(&p->spans[0], 0xaa, 1, "own");
	fake_start(&p->spans[0], &p->g);
	assert_span(sampled(), &p->spans[0], 0, SPAN_OWN);
	assert_int_equal(bpf_map_delete_elem(fd, &key), 0);
}

static int use(const char *path)
{
	struct spanprof_bpf *bpf = spanprof_bpf__open();
	int error;

	assert_non_null(bpf);
	error = context_map_use(bpf->maps.traces_ctx_v1, path);
	if (!error) {
		assert_int_equal(bpf_map__max_entries(bpf->maps.traces_ctx_v1), 77);
		assert_true(bpf_map__fd(bpf->maps.traces_ctx_v1) >= 0);
	}
	spanprof_bpf__destroy(bpf);
	return error;
}

/* A map that is pinned; of another shape it is not that tool's. */
static void test_pinned_map(void **state)
{
	static const struct {
		enum bpf_map_type type;
		__u32 key_size, value_size;
		int result;
	} shapes[] = {
		{BPF_MAP_TYPE_HASH, 8, 24, 0},
		{BPF_MAP_TYPE_LRU_HASH, 8, 24, 0},
		{BPF_MAP_TYPE_HASH, 4, 24, -EINVAL},
		{BPF_MAP_TYPE_HASH, 8, 32, -EINVAL},
		{BPF_MAP_TYPE_PERCPU_HASH, 8, 24, -EINVAL},
	};
	char directory[64], path[96];

	snprintf(directory, sizeof(directory), "/sys/fs/bpf/spanprof_test_%d", getpid());
	snprintf(path, sizeof(path), "%s/traces_ctx_v1", directory);
	assert_int_equal(use(path), -ENOENT);
	assert_int_equal(mkdir(directory, 0700), 0);
	assert_int_equal(use(path), -ENOENT);
	for (size_t i = 0; i < sizeof(shapes) / sizeof(*shapes); i++) {
		int fd = bpf_map_create(shapes[i].type, "another", shapes[i].key_size,
					shapes[i].value_size, 77, NULL);
		int result;

		assert_true(fd >= 0);
		assert_int_equal(bpf_obj_pin(fd, path), 0);
		close(fd);
		result = use(path);
		unlink(path);
		assert_int_equal(result, shapes[i].result);
	}
	assert_int_equal(rmdir(directory), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_keys, begin_labels),
		cmocka_unit_test_setup(test_values, begin_labels),
		cmocka_unit_test_setup(test_slices, begin_labels),
		cmocka_unit_test_setup(test_maps, begin_labels),
		cmocka_unit_test_setup(test_own_span_first, begin_labels),
		cmocka_unit_test_setup(test_context_map, begin_labels),
		cmocka_unit_test_setup(test_pinned_map, begin_labels),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
