/* SPDX-License-Identifier: Apache-2.0 */
/* The way of a sample into the window's profile, with a made-up program and our own process. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <unistd.h>

#include <spanprof/record.h>

#include "agent/binary_store.h"
#include "agent/pipeline.h"
#include "agent/targets.h"
#include "base/string_table.h"
#include "gobinary/block_cache.h"
#include "gobinary/gobinary.h"
#include "go_program.h"
#include "process/process.h"
#include "profile/profile.h"
#include "spans/spans.h"
#include "symbolize/symbolize.h"

#define PERIOD_NS     10101010
#define GENERATION    3
#define LOCATIONS_MAX 8 /* the symbolizer starts anew now and then */

struct fixture {
	struct go_program program;
	struct block_cache *cache;
	struct binary binary;
	struct symbolizer *symbolizer;
	struct target target;
	struct pipeline *pipeline;
	uint64_t main, value, goexit;
	struct {
		struct sample_record sample;
		uint64_t words[600];
	} record;
};

static void set_identity(struct identity *id)
{
	id->count = 2;
	strcpy(id->attributes[0].key, "service.name");
	strcpy(id->attributes[0].value, "shop");
	strcpy(id->attributes[1].key, "process.pid");
	strcpy(id->attributes[1].value, "4711");
	id->attributes[1].is_integer = 1;
}

static uint64_t entry_of(struct fixture *f, const char *name)
{
	struct go_function function;

	assert_int_equal(pclntab_find_name(gobinary_get_pclntab(f->binary.go), name, &function), 0);
	return function.entry;
}

static int set_up(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	struct pipeline_config config = {.period_ns = PERIOD_NS};
	struct symbolizer_config symbolizer = {.locations_max = LOCATIONS_MAX};
	int fd;

	go_program_fill(&f->program, false, "go.opentelemetry.io/otel/sdk/trace", false);
	fd = go_image_file(&f->program.image);
	assert_int_equal(block_cache_open(1 << 20, &f->cache), 0);
	assert_int_equal(gobinary_open(fd, f->cache, &f->binary.go), 0);
	close(fd);
	symbolizer.cache = f->cache;
	assert_int_equal(symbolizer_open(&symbolizer, &f->symbolizer), 0);
	f->target.pid = getpid();
	f->target.generation = GENERATION;
	f->target.binary = &f->binary;
	set_identity(&f->target.identity);
	assert_int_equal(process_open(getpid(), &f->target.process), 0);
	assert_int_equal(
		symbolizer_add_image(f->symbolizer, GENERATION, f->target.process, f->binary.go, 0),
		0);
	config.symbolizer = f->symbolizer;
	assert_int_equal(pipeline_open(&config, &f->pipeline), 0);
	f->main = entry_of(f, "main.main");
	f->value = entry_of(f, "context.WithValue");
	f->goexit = f->program.goexit + 1;
	*state = f;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	pipeline_close(f->pipeline);
	symbolizer_forget(f->symbolizer, GENERATION);
	process_close(f->target.process);
	symbolizer_close(f->symbolizer);
	gobinary_close(f->binary.go);
	block_cache_close(f->cache);
	free(f);
	return 0;
}

/* context.WithValue, called by main.main. */
static struct sample_record *make(struct fixture *f, uint32_t flags)
{
	struct sample_record *s = &f->record.sample;

	memset(&f->record, 0, sizeof(f->record));
	s->header.type = RECORD_SAMPLE;
	s->header.size_bytes = sizeof(*s) + 2 * 8;
	s->pid = (uint32_t)getpid();
	s->generation = GENERATION;
	s->flags = flags;
	s->time_ns = 1000;
	s->pc = f->value;
	s->chain_count = 2;
	s->words[0] = f->main + 1;
	s->words[1] = f->goexit;
	return s;
}

static struct profile_view view_of(const struct profile *p)
{
	struct profile_view view;

	profile_get_view(p, &view);
	return view;
}

static const char *text(const struct profile *p, uint32_t id)
{
	return string_table_get(profile_get_strings(p), id);
}

/* Name of the function at a place of a stack, from the leaf on. */
static const char *frame(const struct profile *p, const struct profile_sample *s, size_t place)
{
	struct profile_view v = view_of(p);
	const struct profile_stack *stack = &v.stacks[s->stack];
	const struct profile_location *l;

	assert_true(place < stack->location_count);
	l = &v.locations[v.stack_locations[stack->first_location + place]];
	assert_int_equal(l->line_count, 1);
	return text(p, v.functions[v.lines[l->first_line].function].name);
}

static void test_sample(void **state)
{
	struct fixture *f = *state;
	const struct profile *p = pipeline_get(f->pipeline);
	struct pipeline_stats stats;
	struct profile_view v;
	const struct profile_attribute *a;

	pipeline_add(f->pipeline, &f->target, make(f, 0));
	pipeline_add(f->pipeline, &f->target, make(f, 0));
	v = view_of(p);
	assert_int_equal(v.period_ns, PERIOD_NS);
	assert_int_equal(v.sample_count, 2); /* the zero value, and one row */
	assert_int_equal(v.samples[1].count, 2);
	assert_int_equal(v.stacks[v.samples[1].stack].location_count, 2); /* goexit is not shown */
	assert_false(v.stacks[v.samples[1].stack].truncated);
	assert_string_equal(frame(p, &v.samples[1], 0), "context.WithValue");
	assert_string_equal(frame(p, &v.samples[1], 1), "main.main");
	assert_int_equal(v.resource_count, 2);
	a = v.attributes + v.resources[v.samples[1].resource].first_attribute;
	assert_int_equal(v.resources[v.samples[1].resource].attribute_count, 2);
	assert_string_equal(text(p, a[0].key), "service.name");
	assert_string_equal(text(p, a[0].value), "shop");
	assert_false(a[0].is_integer);
	assert_string_equal(text(p, a[1].key), "process.pid");
	assert_true(a[1].is_integer);
	assert_int_equal(a[1].number, 4711);

	/* A stack that did not reach its root is another one. */
	f->record.sample.chain_count = 1;
	pipeline_add(f->pipeline, &f->target, &f->record.sample);
	v = view_of(p);
	assert_int_equal(v.sample_count, 3);
	assert_true(v.stacks[v.samples[2].stack].truncated);
	pipeline_get_stats(f->pipeline, &stats);
	assert_int_equal(stats.samples, 3);
	assert_int_equal(stats.without_image, 0);
	assert_int_equal(stats.unwind.stacks, 3);
	assert_int_equal(stats.unwind.truncated, 1);
}

static struct sample_record *make_in_span(struct fixture *f, uint8_t id, const char *name)
{
	struct sample_record *s = make(f, SAMPLE_SPAN);

	memset(s->span.trace_id, 0xaa, sizeof(s->span.trace_id));
	memset(s->span.span_id, id, sizeof(s->span.span_id));
	s->span.trace_flags = 1;
	s->span.name_address = (uint64_t)(uintptr_t)name;
	s->span.name_size = (uint32_t)strlen(name);
	s->span.name_copied =
		(uint16_t)(strlen(name) < RECORD_SPAN_NAME_MAX ? strlen(name)
							       : RECORD_SPAN_NAME_MAX);
	memcpy(s->span.name, name, s->span.name_copied);
	return s;
}

static void assert_span(struct fixture *f, uint32_t handle, uint8_t id, const char *name,
			uint64_t samples)
{
	const struct profile *p = pipeline_get(f->pipeline);
	const struct span *span = spans_get(profile_get_spans(p), handle);
	uint8_t ids[16];

	assert_non_null(span);
	memset(ids, 0xaa, sizeof(ids));
	assert_memory_equal(span->trace_id, ids, 16);
	memset(ids, id, sizeof(ids));
	assert_memory_equal(span->span_id, ids, 8);
	assert_string_equal(text(p, span->name), name);
	assert_int_equal(span->samples, samples);
	assert_int_equal(span->value_ns, samples * PERIOD_NS);
}

static void test_spans(void **state)
{
	struct fixture *f = *state;
	struct pipeline_stats stats;
	const struct span *span;
	struct sample_record *s;
	struct profile_view v;

	s = make_in_span(f, 1, "GET /");
	pipeline_add(f->pipeline, &f->target, s);
	s->time_ns = 3000;
	pipeline_add(f->pipeline, &f->target, s);
	pipeline_add(f->pipeline, &f->target, make_in_span(f, 2, "POST /"));
	pipeline_add(f->pipeline, &f->target, make(f, SAMPLE_SPAN_UNREADABLE));
	v = view_of(pipeline_get(f->pipeline));
	assert_int_equal(v.sample_count, 4);
	assert_int_equal(v.samples[1].count, 2);
	assert_span(f, v.samples[1].span, 1, "GET /", 2);
	assert_span(f, v.samples[2].span, 2, "POST /", 1);
	assert_int_equal(v.samples[3].span, 0);
	span = spans_get(profile_get_spans(pipeline_get(f->pipeline)), 1);
	assert_int_equal(span->first_ns, 1000);
	assert_int_equal(span->last_ns, 3000);
	assert_true(span->sampled);
	pipeline_get_stats(f->pipeline, &stats);
	assert_int_equal(stats.span_unsettled, 1);
	assert_int_equal(stats.samples, 4);
}

/* A name longer than the record's part of it is read from the process; else the part stands. */
static void test_long_names(void **state)
{
	struct fixture *f = *state;
	char name[301], cut[97];
	struct sample_record *s;

	for (size_t i = 0; i < 300; i++)
		name[i] = (char)('a' + i % 26);
	name[300] = '\0';
	pipeline_add(f->pipeline, &f->target, make_in_span(f, 1, name));
	name[256] = '\0'; /* as much as is kept of a name */
	assert_span(f, 1, 1, name, 1);
	memcpy(cut, name, 96);
	cut[96] = '\0';
	s = make_in_span(f, 2, name);
	s->span.name_address = 8;
	pipeline_add(f->pipeline, &f->target, s);
	assert_span(f, 2, 2, cut, 1);
	s->span.span_id[0]++; /* a count that no record has room for */
	s->span.name_copied = 255;
	pipeline_add(f->pipeline, &f->target, s);
	s = make_in_span(f, 4, "late"); /* the kernel side read nothing of it */
	s->span.name_copied = 0;
	pipeline_add(f->pipeline, &f->target, s);
	assert_span(f, 4, 4, "late", 1);
}

/* Samples that came early are added in order, and only for the process they are of. */
static void test_held(void **state)
{
	struct fixture *f = *state;
	struct pipeline_stats stats;
	struct sample_record *s;
	size_t record_bytes = sizeof(f->record);

	for (uint64_t i = 0; i < 3; i++) {
		s = make_in_span(f, 1, "held");
		s->time_ns = 5000 - i;
		s->generation = 0;
		pipeline_hold(f->pipeline, s);
	}
	s->pid++;
	pipeline_hold(f->pipeline, s);
	assert_int_equal(view_of(pipeline_get(f->pipeline)).sample_count, 1);
	pipeline_release(f->pipeline, &f->target);
	assert_int_equal(view_of(pipeline_get(f->pipeline)).samples[1].count, 3);
	assert_int_equal(view_of(pipeline_get(f->pipeline)).sample_count, 2);
	pipeline_release(f->pipeline, &f->target);
	pipeline_discard(f->pipeline, s->pid);
	f->target.pid++;
	pipeline_release(f->pipeline, &f->target);
	pipeline_get_stats(f->pipeline, &stats);
	assert_int_equal(stats.samples, 3);
	assert_int_equal(stats.without_image, 0);

	/* 4 MiB for all; what finds no room is counted. */
	s = make(f, 0);
	s->header.size_bytes = (uint32_t)record_bytes;
	for (size_t i = 0; i < (4 << 20) / record_bytes + 5; i++)
		pipeline_hold(f->pipeline, s);
	pipeline_get_stats(f->pipeline, &stats);
	assert_int_equal(stats.without_image, 5);
	pipeline_discard(f->pipeline, s->pid);
	pipeline_hold(f->pipeline, s);
	pipeline_lose(f->pipeline, s->pid);
	pipeline_get_stats(f->pipeline, &stats);
	assert_int_equal(stats.without_image, 6);
}

/* A window that ends is given away as it is; the next one knows nothing of it. */
static void test_windows(void **state)
{
	struct fixture *f = *state;
	struct profile *first, *second;
	struct profile_view v;

	pipeline_add(f->pipeline, &f->target, make_in_span(f, 1, "one"));
	first = pipeline_take(f->pipeline);
	assert_non_null(first);
	assert_int_equal(view_of(pipeline_get(f->pipeline)).sample_count, 1);
	pipeline_add(f->pipeline, &f->target, make_in_span(f, 2, "two"));
	second = pipeline_take(f->pipeline);
	v = view_of(first);
	assert_int_equal(v.sample_count, 2);
	assert_int_equal(v.resource_count, 2);
	assert_int_equal(spans_count(profile_get_spans(first)), 1);
	assert_string_equal(text(first, spans_get(profile_get_spans(first), 1)->name), "one");
	assert_string_equal(frame(first, &v.samples[1], 0), "context.WithValue");
	v = view_of(second);
	assert_int_equal(v.sample_count, 2);
	assert_int_equal(v.resource_count, 2); /* told again */
	assert_string_equal(text(second, spans_get(profile_get_spans(second), 1)->name), "two");
	assert_string_equal(frame(second, &v.samples[1], 1), "main.main");
	assert_true(view_of(second).start_wall_ns >= view_of(first).start_wall_ns);
	profile_close(first);
	profile_close(second);
}

/* The symbolizer starts anew within the window: names stay right, counts add up. */
static void test_symbolizer_starts_anew(void **state)
{
	static const char *const names[] = {"main.main", "context.WithValue", "runtime.runqput",
					    "runtime.newproc.func1"};
	struct fixture *f = *state;
	const struct profile *p = pipeline_get(f->pipeline);
	uint64_t counts[4] = {0};
	struct profile_view v;

	for (uint64_t i = 0; i < 64; i++) {
		struct sample_record *s = make(f, 0);

		s->pc = entry_of(f, names[i % 4]) + i / 4 % 8;
		pipeline_add(f->pipeline, &f->target, s);
	}
	v = view_of(p);
	for (size_t i = 1; i < v.sample_count; i++) {
		const struct profile_stack *stack = &v.stacks[v.samples[i].stack];
		uint64_t address = v.locations[v.stack_locations[stack->first_location]].address;
		size_t name = 0;

		while (name < 4 && address - entry_of(f, names[name]) >= 16)
			name++;
		assert_true(name < 4);
		assert_string_equal(frame(p, &v.samples[i], 0), names[name]);
		assert_string_equal(frame(p, &v.samples[i], 1), "main.main");
		counts[name] += v.samples[i].count;
	}
	for (size_t i = 0; i < 4; i++)
		assert_int_equal(counts[i], 16);
	assert_int_equal(v.dropped, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_sample, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_spans, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_long_names, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_held, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_windows, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_symbolizer_starts_anew, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
