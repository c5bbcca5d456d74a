/* SPDX-License-Identifier: Apache-2.0 */
/* From records to spans: labels, memory that is read a second time, ends. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <unistd.h>

#include <spanprof/record.h>

#include "agent/binary_store.h"
#include "agent/span_sights.h"
#include "agent/targets.h"
#include "base/clock.h"
#include "go_program.h"
#include "gobinary/block_cache.h"
#include "gobinary/gobinary.h"
#include "process/process.h"
#include "process/span_memory.h"
#include "unwind/unwind.h"

#define TRACE_HEX     "4BF92F3577b34da6a3ce929d0e0e4736"
#define SECOND_NS     1000000000ull
#define SECONDS_1885  2682288000ull  /* to 1970; a time with two clock readings counts from then */
#define SECONDS_1     62135596800ull /* from the year 1: one with one reading does */
#define WITH_BOTH     (1ull << 63)
#define SPAN_BYTES    512
#define COUNT_OF(all) (sizeof(all) / sizeof(*(all)))

static const uint8_t trace_bytes[16] = {0x4b, 0xf9, 0x2f, 0x35, 0x77, 0xb3, 0x4d, 0xa6,
					0xa3, 0xce, 0x92, 0x9d, 0x0e, 0x0e, 0x47, 0x36};

/* An executable with the SDK; its process is ours. */
struct fixture {
	struct go_program program;
	struct block_cache *cache;
	struct binary binary;
	struct target target;
	const struct go_span_offsets *at;
	struct unwound_stack stack;
	struct sample_record sample;
	uint8_t span[SPAN_BYTES];
	struct sampled_span out;
};

static int set_up(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	int fd;

	go_program_fill(&f->program, false, "go.opentelemetry.io/otel/sdk/trace", false);
	fd = go_image_file(&f->program.image);
	assert_int_equal(block_cache_open(1 << 20, &f->cache), 0);
	assert_int_equal(gobinary_open(fd, f->cache, &f->binary.go), 0);
	close(fd);
	f->at = &gobinary_get_info(f->binary.go)->span;
	f->target.pid = getpid();
	f->target.binary = &f->binary;
	assert_int_equal(process_open(getpid(), &f->target.process), 0);
	f->sample.header.type = RECORD_SAMPLE;
	f->sample.header.size_bytes = sizeof(f->sample);
	f->sample.time_ns = clock_monotonic_ns();
	*state = f;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	process_close(f->target.process);
	gobinary_close(f->binary.go);
	block_cache_close(f->cache);
	free(f);
	return 0;
}

static enum span_answer look(struct fixture *f)
{
	memset(&f->out, 0xa5, sizeof(f->out));
	span_sight_of_sample(&f->target, &f->sample, &f->stack, &f->out);
	assert_int_equal(f->out.sight.time_ns, f->sample.time_ns);
	assert_ptr_equal(f->out.sight.name, f->out.name);
	return f->out.answer;
}

static void assert_name(const struct fixture *f, const char *name)
{
	assert_int_equal(f->out.sight.name_size, strlen(name));
	assert_memory_equal(f->out.sight.name, name, strlen(name));
}

static void put_labels(struct fixture *f, const char *trace_id, const char *span_id,
		       const char *name, bool decimal)
{
	struct label_values v = {
		.trace_id_size = (uint8_t)strlen(trace_id),
		.span_id_size = (uint8_t)strlen(span_id),
		.span_name_size = (uint8_t)strlen(name),
		.decimal = decimal,
	};

	memcpy(v.trace_id, trace_id, strlen(trace_id));
	memcpy(v.span_id, span_id, strlen(span_id));
	memcpy(v.span_name, name, strlen(name));
	memset(&f->sample.span, 0, sizeof(f->sample.span));
	memcpy(f->sample.span.name, &v, sizeof(v));
	f->sample.span.source = SPAN_LABELS;
	f->sample.span.name_copied = sizeof(v);
	f->sample.flags = SAMPLE_SPAN;
}

static void test_labels_in_hex(void **state)
{
	static const uint8_t id[8] = {0x00, 0xf0, 0x67, 0xaa, 0x0b, 0xa9, 0x02, 0xb7}, none[16];
	static const char *const malformed[] = {
		"", "00f067aa0ba902b", "00f067aa0ba902b70", "00f067aa0ba902bg", "00f067aa0ba902b/",
	};
	static const char *const no_trace[] = {
		"",
		"4bf92f3577b34da6a3ce929d0e0e473",
		"4bf92f3577b34da6a3ce929d0e0e473z",
	};
	struct fixture *f = *state;

	put_labels(f, TRACE_HEX, "00f067AA0ba902b7", "GET /", false);
	assert_int_equal(look(f), SPAN_ANSWER_SPAN);
	assert_int_equal(f->out.source, SPAN_LABELS);
	assert_memory_equal(f->out.sight.trace_id, trace_bytes, 16);
	assert_memory_equal(f->out.sight.span_id, id, 8);
	assert_true(f->out.sight.sampled);
	assert_name(f, "GET /");
	for (size_t i = 0; i < COUNT_OF(malformed); i++) {
		put_labels(f, TRACE_HEX, malformed[i], "GET /", false);
		assert_int_equal(look(f), SPAN_ANSWER_NONE);
	}
	/* A span that cannot be linked. */
	for (size_t i = 0; i < COUNT_OF(no_trace); i++) {
		put_labels(f, no_trace[i], "00f067aa0ba902b7", "", false);
		assert_int_equal(look(f), SPAN_ANSWER_SPAN);
		assert_memory_equal(f->out.sight.trace_id, none, 16);
		assert_memory_equal(f->out.sight.span_id, id, 8);
		assert_false(f->out.sight.sampled);
		assert_name(f, "");
	}
}

static void test_labels_in_decimal(void **state)
{
	static const struct {
		const char *text;
		enum span_answer answer;
		uint64_t id;
	} texts[] = {
		{"1", SPAN_ANSWER_SPAN, 1},
		{"67667974448284343", SPAN_ANSWER_SPAN, 0xf067aa0ba902b7},
		{"18446744073709551615", SPAN_ANSWER_SPAN, UINT64_MAX},
		{"00000000000000000012", SPAN_ANSWER_SPAN, 12},
		{"18446744073709551616", SPAN_ANSWER_NONE, 0},
		{"99999999999999999999", SPAN_ANSWER_NONE, 0},
		{"", SPAN_ANSWER_NONE, 0},
		{"-1", SPAN_ANSWER_NONE, 0},
		{"12a", SPAN_ANSWER_NONE, 0},
		{"00f067aa0ba902b7", SPAN_ANSWER_NONE, 0},
	};
	static const uint8_t none[16];
	struct fixture *f = *state;

	for (size_t i = 0; i < COUNT_OF(texts); i++) {
		put_labels(f, TRACE_HEX, texts[i].text, "web.request", true);
		assert_int_equal(look(f), texts[i].answer);
		if (texts[i].answer != SPAN_ANSWER_SPAN)
			continue;
		for (int byte = 0; byte < 8; byte++)
			assert_int_equal(f->out.sight.span_id[byte],
					 texts[i].id >> (56 - 8 * byte) & 0xff);
		/* Its trace ID would be another label's. */
		assert_memory_equal(f->out.sight.trace_id, none, 16);
		assert_false(f->out.sight.sampled);
		assert_name(f, "web.request");
	}
}

/* Sizes beyond the room for each: as no record has them. */
static void test_labels_too_long(void **state)
{
	struct fixture *f = *state;

	for (size_t i = 0; i < 3; i++) {
		put_labels(f, TRACE_HEX, "00f067aa0ba902b7", "GET /", false);
		f->sample.span.name[i] = (char)255;
		assert_int_equal(look(f), SPAN_ANSWER_NONE);
	}
	put_labels(f, TRACE_HEX, "00f067aa0ba902b7", "a name that is as long as a label's may",
		   false);
	f->sample.span.name[2] = 40;
	assert_int_equal(look(f), SPAN_ANSWER_SPAN);
	assert_int_equal(f->out.sight.name_size, 40);
	f->sample.span.name[2] = 41;
	assert_int_equal(look(f), SPAN_ANSWER_NONE);
}

static void test_other_sources(void **state)
{
	struct fixture *f = *state;
	const enum span_source sources[] = {SPAN_OWN, SPAN_INHERITED, SPAN_OLDER, SPAN_CONTEXT_MAP};

	assert_int_equal(look(f), SPAN_ANSWER_NONE);
	f->sample.flags = SAMPLE_SPAN;
	memcpy(f->sample.span.trace_id, trace_bytes, 16);
	memset(f->sample.span.span_id, 0x42, 8);
	for (size_t i = 0; i < COUNT_OF(sources); i++) {
		f->sample.span.source = sources[i];
		f->sample.span.trace_flags = i % 2 ? 3 : 2;
		assert_int_equal(look(f), SPAN_ANSWER_SPAN);
		assert_int_equal(f->out.source, sources[i]);
		assert_int_equal(f->out.sight.sampled, i % 2);
		assert_memory_equal(f->out.sight.trace_id, trace_bytes, 16);
		assert_int_equal(f->out.sight.span_id[7], 0x42);
		assert_name(f, "");
	}
	f->sample.flags |= SAMPLE_UNSAMPLED;
	assert_int_equal(look(f), SPAN_ANSWER_UNSAMPLED);
}

static struct go_time time_with_both(uint64_t wall_ns)
{
	return (struct go_time){
		WITH_BOTH | (wall_ns / SECOND_NS + SECONDS_1885) << 30 | wall_ns % SECOND_NS, 5};
}

static struct go_time time_with_one(uint64_t wall_ns)
{
	return (struct go_time){wall_ns % SECOND_NS, wall_ns / SECOND_NS + SECONDS_1};
}

static void put(struct fixture *f, size_t offset, const void *from, size_t size)
{
	assert_true(offset + size <= SPAN_BYTES);
	memcpy(f->span + offset, from, size);
}

/* An open span in our memory, of which the kernel side knows that it was there. */
static void put_span(struct fixture *f, const char *name)
{
	const struct go_span_offsets *at = f->at;
	const uint64_t text[2] = {(uint64_t)(uintptr_t)name, strlen(name)};
	const struct go_time start = time_with_both(clock_wall_ns() - 10 * SECOND_NS);
	const uint8_t id[8] = {1, 2, 3, 4, 5, 6, 7, 8}, flags = 1;

	put(f, at->context + at->context_trace_id, trace_bytes, 16);
	put(f, at->context + at->context_span_id, id, 8);
	put(f, at->context + at->context_flags, &flags, 1);
	put(f, at->name, text, sizeof(text));
	put(f, at->start_time, &start, sizeof(start));
	memset(&f->sample.span, 0, sizeof(f->sample.span));
	f->sample.flags = SAMPLE_SPAN_UNREADABLE;
	f->sample.span.address = (uint64_t)(uintptr_t)f->span;
	f->sample.span.source = SPAN_INHERITED;
	memcpy(f->sample.span.span_id, id, 8);
}

static void end_span(struct fixture *f, struct go_time end)
{
	put(f, f->at->end_time, &end, sizeof(end));
}

/* The memory that was not there for BPF decides, by the time of the sample, not of the look. */
static void test_settled(void **state)
{
	struct fixture *f = *state;
	uint64_t ago_ns = 100 * SECOND_NS, sampled_wall_ns;
	char name[300];

	put_span(f, "POST /cart");
	f->sample.time_ns = clock_monotonic_ns() - ago_ns;
	sampled_wall_ns = clock_wall_ns() - ago_ns;
	assert_int_equal(look(f), SPAN_ANSWER_SPAN);
	assert_int_equal(f->out.source, SPAN_INHERITED);
	assert_memory_equal(f->out.sight.trace_id, trace_bytes, 16);
	assert_memory_equal(f->out.sight.span_id, f->sample.span.span_id, 8);
	assert_true(f->out.sight.sampled);
	assert_name(f, "POST /cart");
	end_span(f, time_with_both(sampled_wall_ns + SECOND_NS));
	assert_int_equal(look(f), SPAN_ANSWER_SPAN);
	end_span(f, time_with_one(sampled_wall_ns + SECOND_NS));
	assert_int_equal(look(f), SPAN_ANSWER_SPAN);
	end_span(f, time_with_both(sampled_wall_ns - SECOND_NS));
	assert_int_equal(look(f), SPAN_ANSWER_NONE);
	end_span(f, time_with_one(sampled_wall_ns - SECOND_NS));
	assert_int_equal(look(f), SPAN_ANSWER_NONE);
	end_span(f, (struct go_time){0, 0});
	assert_int_equal(look(f), SPAN_ANSWER_SPAN);
	/* Given to another span meanwhile; gone for us, too. */
	f->span[f->at->context + f->at->context_span_id] ^= 1;
	assert_int_equal(look(f), SPAN_ANSWER_NONE);
	f->sample.span.address = 8;
	assert_int_equal(look(f), SPAN_ANSWER_UNSETTLED);
	/* Recorded without the sampled flag; a name that is too long, and one that is not there. */
	memset(name, 'n', sizeof(name));
	name[sizeof(name) - 1] = '\0';
	put_span(f, name);
	f->span[f->at->context + f->at->context_flags] = 2;
	assert_int_equal(look(f), SPAN_ANSWER_SPAN);
	assert_false(f->out.sight.sampled);
	name[SPAN_SIGHT_NAME_MAX] = '\0';
	assert_name(f, name);
	f->span[f->at->name + 7] = 0x7f;
	assert_int_equal(look(f), SPAN_ANSWER_SPAN);
	assert_name(f, "");
}

static void fill_record(struct span_record *r, const char *name, size_t copied)
{
	struct go_time start = time_with_both(1700000000 * SECOND_NS + 5), end = start;

	end.wall += 1234567;
	end.ext += 1234567;
	*r = (struct span_record){
		.start = {start.wall, start.ext},
		.end = {end.wall, end.ext},
		.name_address = (uint64_t)(uintptr_t)name,
		.name_size = (uint32_t)strlen(name),
		.name_copied = (uint8_t)copied,
		.trace_flags = 1,
		.status = 2,
		.kind = 5,
	};
	memcpy(r->trace_id, trace_bytes, 16);
	memset(r->span_id, 0x42, 8);
	memset(r->parent_id, 0x43, 8);
	memcpy(r->name, name, copied);
}

static void assert_end(const struct span_end *end, const char *name)
{
	assert_memory_equal(end->span.trace_id, trace_bytes, 16);
	assert_int_equal(end->span.span_id[7], 0x42);
	assert_int_equal(end->span.parent_id[7], 0x43);
	assert_true(end->span.sampled);
	assert_int_equal(end->span.status, 2);
	assert_int_equal(end->span.kind, 5);
	assert_int_equal(end->span.start_wall_ns, 1700000000000000005ull);
	assert_int_equal(end->span.duration_ns, 1234567);
	assert_int_equal(end->name_size, strlen(name));
	assert_memory_equal(end->name, name, strlen(name));
}

static void test_ends(void **state)
{
	struct fixture *f = *state;
	char text[120], name[SPAN_SIGHT_NAME_MAX];
	struct span_memory span = {.trace_flags = 1, .status = 2, .kind = 5};
	struct span_record r;
	struct span_end end;

	fill_record(&r, "GET /", 5);
	span_end_of_record(&f->target, &r, name, &end);
	assert_end(&end, "GET /");
	/* The rest of a long name is read, where its beginning is still there. */
	memset(text, 'x', sizeof(text));
	text[sizeof(text) - 1] = '\0';
	fill_record(&r, text, RECORD_SPAN_NAME_MAX);
	text[100] = 'y';
	span_end_of_record(&f->target, &r, name, &end);
	assert_end(&end, text);
	text[5] = 'y';
	span_end_of_record(&f->target, &r, name, &end);
	memset(text, 'x', RECORD_SPAN_NAME_MAX);
	text[RECORD_SPAN_NAME_MAX] = '\0';
	assert_end(&end, text);
	/* The same from memory. */
	memcpy(span.trace_id, r.trace_id, 16);
	memcpy(span.span_id, r.span_id, 8);
	memcpy(span.parent_id, r.parent_id, 8);
	span.start = (struct go_time){r.start[0], r.start[1]};
	span.end = (struct go_time){r.end[0], r.end[1]};
	span.name_address = (uint64_t)(uintptr_t)text;
	span.name_size = 7;
	span_end_of_memory(&f->target, &span, name, &end);
	assert_end(&end, "xxxxxxx");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_labels_in_hex, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_labels_in_decimal, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_labels_too_long, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_other_sources, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_settled, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_ends, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
