/* SPDX-License-Identifier: Apache-2.0 */
/* Spans in memory by the offsets of several SDK versions, and Go's times in them. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <sys/mman.h>
#include <unistd.h>

#include "gobinary/gobinary.h"
#include "process/process.h"
#include "process/span_memory.h"

#define COUNT_OF(array) (sizeof(array) / sizeof(*(array)))
#define SPAN_BYTES	1024
#define NOW_NS		1796042487081119101ull /* of the times below */
#define SECOND_NS	1000000000ull
#define YEAR_NS		(365 * 86400 * SECOND_NS)

/* As the SDK has them from 1.20 on, and before. */
static const struct go_span_offsets of_1_20 = {
	.context = 192,
	.parent = 24,
	.name = 96,
	.start_time = 112,
	.end_time = 136,
	.status = 160,
	.kind = 88,
	.context_span_id = 16,
	.context_flags = 24,
};
static const struct go_span_offsets of_1_3 = {
	.context = 232,
	.parent = 8,
	.name = 80,
	.start_time = 96,
	.end_time = 120,
	.status = 144,
	.kind = 72,
	.context_span_id = 16,
	.context_flags = 24,
};
/* Nothing but what each version must have, in another order. */
static const struct go_span_offsets least = {
	.context = 0,
	.name = 40,
	.start_time = 72,
	.end_time = 56,
	.context_trace_id = 8,
	.context_span_id = 0,
	.context_flags = 24,
};

/* Each byte is told by its place. */
static uint8_t byte_at(size_t place)
{
	return (uint8_t)(place * 7 + place / 256 + 1);
}

static void fill(uint8_t *bytes, size_t size)
{
	for (size_t i = 0; i < size; i++)
		bytes[i] = byte_at(i);
}

static uint64_t word_at(size_t place)
{
	uint8_t bytes[8];
	uint64_t word;

	for (size_t i = 0; i < 8; i++)
		bytes[i] = byte_at(place + i);
	memcpy(&word, bytes, 8);
	return word;
}

static void assert_bytes_of(const uint8_t *bytes, size_t count, size_t place)
{
	for (size_t i = 0; i < count; i++)
		assert_int_equal(bytes[i], byte_at(place + i));
}

static void assert_zero(const uint8_t *bytes, size_t count)
{
	for (size_t i = 0; i < count; i++)
		assert_int_equal(bytes[i], 0);
}

/* In a block of exactly the size that is asked for: the sanitizer sees a look beyond it. */
static struct span_memory decode(const struct go_span_offsets *at)
{
	size_t size = span_memory_size(at);
	uint8_t *bytes = malloc(size);
	struct span_memory span;

	assert_true(size > 0 && size <= SPAN_BYTES);
	fill(bytes, size);
	memset(&span, 0xa5, sizeof(span));
	span_memory_decode(at, 0xc000123400, bytes, &span);
	free(bytes);
	assert_int_equal(span.address, 0xc000123400);
	return span;
}

static void check_required(const struct go_span_offsets *at, const struct span_memory *span)
{
	assert_bytes_of(span->trace_id, 16, at->context + at->context_trace_id);
	assert_bytes_of(span->span_id, 8, at->context + at->context_span_id);
	assert_int_equal(span->trace_flags, byte_at(at->context + at->context_flags));
	assert_int_equal(span->name_address, word_at(at->name));
	assert_int_equal(span->name_size, word_at(at->name + 8));
	assert_int_equal(span->start.wall, word_at(at->start_time));
	assert_int_equal(span->start.ext, word_at(at->start_time + 8));
	assert_int_equal(span->end.wall, word_at(at->end_time));
	assert_int_equal(span->end.ext, word_at(at->end_time + 8));
}

static void test_decode(void **state)
{
	const struct go_span_offsets *const all[] = {&of_1_20, &of_1_3};
	struct span_memory span;

	for (size_t i = 0; i < COUNT_OF(all); i++) {
		span = decode(all[i]);
		check_required(all[i], &span);
		assert_bytes_of(span.parent_id, 8, all[i]->parent + 16);
		assert_int_equal(span.status, byte_at(all[i]->status));
		assert_int_equal(span.kind, byte_at(all[i]->kind));
	}
	assert_int_equal(span_memory_size(&of_1_20), 192 + 25);
	assert_int_equal(span_memory_size(&of_1_3), 232 + 25);
	span = decode(&least);
	check_required(&least, &span);
	assert_zero(span.parent_id, 8);
	assert_int_equal(span.status, 0);
	assert_int_equal(span.kind, 0);
	assert_int_equal(span_memory_size(&least), 72 + 16);
}

/* A field that a hostile executable puts elsewhere is not there; the others are as ever. */
static void test_decode_far_away(void **state)
{
	struct go_span_offsets at = of_1_20;
	struct span_memory span;

	at.context = SPAN_BYTES - 23;
	at.end_time = SPAN_BYTES - 15;
	at.status = SPAN_BYTES;
	span = decode(&at);
	assert_bytes_of(span.trace_id, 16, SPAN_BYTES - 23);
	assert_zero(span.span_id, 8);
	assert_int_equal(span.trace_flags, 0);
	assert_int_equal(span.end.wall | span.end.ext, 0);
	assert_int_equal(span.status, 0);
	assert_int_equal(span.name_address, word_at(96));
	assert_int_equal(span.start.ext, word_at(120));
	assert_int_equal(span.kind, byte_at(88));
	assert_int_equal(span_memory_size(&at), SPAN_BYTES);
	at.end_time = SPAN_BYTES - 16;
	at.status = SPAN_BYTES - 1;
	span = decode(&at);
	assert_int_equal(span.end.wall, word_at(SPAN_BYTES - 16));
	assert_int_equal(span.end.ext, word_at(SPAN_BYTES - 8));
	assert_int_equal(span.status, byte_at(SPAN_BYTES - 1));
	memset(&at, 0xff, sizeof(at));
	span = decode(&at);
	assert_int_equal(span.name_address | span.name_size | span.start.wall, 0);
}

/*
 * What Go 1.26 has in memory for times (printed by way of unsafe), with its UnixNano; those of 2500
 * and 2600, which that cannot tell, from Unix().
 */
static const struct {
	struct go_time time;
	uint64_t wall_ns;
} times[] = {
	/* 2026-11-30T12:41:27Z by time.Now(); the second is .Round(0): without the other clock */
	{{0xc2bb799dc4a5ab1b, 0x246a4}, 1796042487077966107ull},
	{{0x4d5c77d, 0xee29f65f7}, 1796042487081119101ull},
	{{0xc2bbd181c4a5ab1b, 0x51dac209e6a4}, 1796132487077966107ull},
	{{0, 0}, 0},
	{{0, 0xe7791f700}, 0},		/* 1970 */
	{{1, 0xe7791f700}, 1},		/* and a nanosecond */
	{{0x3b9ac9ff, 0xe7791f6ff}, 0}, /* one before: has no number here */
	{{0x3b9ac9ff, 0xeb32cc100}, 1000000000999999999ull},
	{{0x32f2d7ff, 0x109d537404}, 9223372036854775807ull},
	{{5, 0x125c78a780}, 16725225600000000005ull},	       /* 2500-01-01 */
	{{5, 0x1318906980}, 0},				       /* 2600: beyond 64 bits of ns */
	{{0x3b9ac9ff, 0x12c314f108}, 18446744072999999999ull}, /* the last second that has */
	{{0, 0x12c314f109}, 0},
	{{0, 0x497786387f}, 0}, /* 9999 */
	{{0, (uint64_t)INT64_MIN}, 0},
	{{0, (uint64_t)INT64_MAX}, 0},
};

static void test_wall_times(void **state)
{
	for (size_t i = 0; i < COUNT_OF(times); i++)
		assert_int_equal(go_time_wall_ns(times[i].time), times[i].wall_ns);
}

/* By the wall clock, as exporters tell it: Go's Round(0) for the same times. */
static void test_between(void **state)
{
	const struct go_time now = times[0].time, later_wall = times[1].time;
	const struct go_time later = {0xc2bb799dc4d5c77d, 0x326305};
	/* The clock was set back by an hour meanwhile; without the other clock that is all. */
	const struct go_time set_back = {0xc2bb7619c4d5c77d, 0x326305};
	const struct go_time zero = {0, 0};

	assert_int_equal(go_time_between_ns(now, later), 3152994);
	assert_int_equal(go_time_between_ns(now, later_wall), 3152994);
	assert_int_equal(go_time_between_ns(now, times[2].time), 90000000000000ull);
	assert_int_equal(go_time_between_ns(now, set_back), 0); /* never negative */
	assert_int_equal(go_time_between_ns(times[4].time, times[7].time), 1000000000999999999ull);
	/* Never negative: Go's Sub says -3152993, and -3599996847006. */
	assert_int_equal(go_time_between_ns(later, now), 0);
	assert_int_equal(go_time_between_ns(later_wall, (struct go_time){0xc2bb7619c4d5c77d, 1}),
			 0);
	assert_int_equal(go_time_between_ns(now, now), 0);
	assert_int_equal(go_time_between_ns(now, zero), 0);
	assert_false(span_memory_is_open(&(struct span_memory){.end = {1, 0}}));
	assert_false(span_memory_is_open(&(struct span_memory){.end = {0, 1}}));
	assert_true(span_memory_is_open(&(struct span_memory){.start = {1, 1}}));
}

static struct span_memory plausible_span(void)
{
	return (struct span_memory){
		.trace_id = {[15] = 1},
		.span_id = {[0] = 1},
		.start = times[1].time,
		.name_address = 0xc000010000,
		.name_size = 5,
	};
}

static void test_plausible(void **state)
{
	struct span_memory span = plausible_span();

	assert_true(span_memory_is_plausible(&span, NOW_NS));
	/* It began at NOW_NS: that is not yet, by less or more than clocks are apart. */
	assert_true(span_memory_is_plausible(&span, NOW_NS - SECOND_NS / 10));
	assert_false(span_memory_is_plausible(&span, NOW_NS - SECOND_NS / 10 - 1));
	assert_true(span_memory_is_plausible(&span, NOW_NS + YEAR_NS - 1));
	assert_false(span_memory_is_plausible(&span, NOW_NS + YEAR_NS));
	span.name_size = 65535;
	assert_true(span_memory_is_plausible(&span, NOW_NS));
	span.name_size = 65536;
	assert_false(span_memory_is_plausible(&span, NOW_NS));
	span.name_size = 0;
	assert_false(span_memory_is_plausible(&span, NOW_NS));
	span = plausible_span();
	span.name_address = 0;
	assert_false(span_memory_is_plausible(&span, NOW_NS));
	span = plausible_span();
	span.trace_id[15] = 0;
	assert_false(span_memory_is_plausible(&span, NOW_NS));
	span = plausible_span();
	span.span_id[0] = 0;
	assert_false(span_memory_is_plausible(&span, NOW_NS));
	/* Times that are none, with the sums that would overflow. */
	for (size_t i = 3; i < COUNT_OF(times); i++) {
		span = plausible_span();
		span.start = times[i].time;
		assert_false(span_memory_is_plausible(&span, NOW_NS));
	}
	span = plausible_span();
	span.start = (struct go_time){UINT64_MAX, UINT64_MAX};
	assert_false(span_memory_is_plausible(&span, NOW_NS));
}

/* Our own memory in the place of a Go process's. */
static void test_read(void **state)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE), size = span_memory_size(&of_1_20);
	uint8_t *bytes =
		mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint64_t at = (uint64_t)(uintptr_t)bytes;
	struct span_memory span;
	struct process *p;

	assert_true(bytes != MAP_FAILED);
	assert_int_equal(munmap(bytes + page, page), 0);
	assert_int_equal(process_open(getpid(), &p), 0);
	assert_int_equal(span_memory_read(p, &of_1_20, at, &span), -ENOENT);
	/* The last that fits before the page that is not there, and one byte on. */
	at += page - size;
	fill(bytes + page - size, size);
	assert_int_equal(span_memory_read(p, &of_1_20, at, &span), 0);
	assert_int_equal(span.address, at);
	check_required(&of_1_20, &span);
	assert_int_equal(span_memory_read(p, &of_1_20, at + 1, &span), -EFAULT);
	assert_int_equal(span_memory_read(p, &of_1_20, 8, &span), -EFAULT);
	assert_int_equal(span_memory_read(p, &of_1_20, UINT64_MAX - 7, &span), -EFAULT);
	process_close(p);
	munmap(bytes, page);
}

static void test_read_name(void **state)
{
	char text[SPAN_MEMORY_NAME_MAX + 10], name[SPAN_MEMORY_NAME_MAX];
	struct span_memory span = {.name_address = (uint64_t)(uintptr_t)text, .name_size = 7};
	struct process *p;

	for (size_t i = 0; i < sizeof(text); i++)
		text[i] = (char)byte_at(i);
	assert_int_equal(process_open(getpid(), &p), 0);
	memset(name, 0, sizeof(name));
	assert_int_equal(span_memory_read_name(p, &span, name), 7);
	assert_memory_equal(name, text, 7);
	assert_int_equal(name[7], 0);
	span.name_size = UINT64_MAX;
	assert_int_equal(span_memory_read_name(p, &span, name), SPAN_MEMORY_NAME_MAX);
	assert_memory_equal(name, text, SPAN_MEMORY_NAME_MAX);
	span.name_size = 0;
	assert_int_equal(span_memory_read_name(p, &span, name), 0);
	span.name_size = 7;
	span.name_address = 8;
	assert_int_equal(span_memory_read_name(p, &span, name), 0);
	process_close(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_decode),	   cmocka_unit_test(test_decode_far_away),
		cmocka_unit_test(test_wall_times), cmocka_unit_test(test_between),
		cmocka_unit_test(test_plausible),  cmocka_unit_test(test_read),
		cmocka_unit_test(test_read_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
