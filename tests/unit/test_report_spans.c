/* SPDX-License-Identifier: Apache-2.0 */
/* What a report tells of spans that have ended: how long they took, and a trace as a tree. */
#include "shop_report.h"
#include "spans/durations.h"

#define MS	UINT64_C(1000000)
#define NOWHERE 0xffff

/* Span `number` of trace `trace`, whose parent is span `parent`; times in ms, `cpu` samples. */
struct ended {
	uint16_t trace, number, parent;
	const char *name;
	uint64_t start, took, cpu;
	bool failed;
};

static void id_of(uint8_t id[8], uint32_t number)
{
	memset(id, 0, 8);
	memcpy(id, &number, sizeof(number));
	id[7] = 0xb7;
}

static void end_span(const struct ended *e)
{
	struct span_end end = {.name = e->name, .name_size = strlen(e->name)};

	end.span = (struct span){.resource = shop.shop,
				 .sampled = true,
				 .ended = true,
				 .status = e->failed ? SPAN_STATUS_ERROR : 0,
				 .start_wall_ns = SHOP_START_NS + e->start * MS,
				 .duration_ns = e->took * MS};
	for (int i = 0; i < 8; i++)
		memcpy(end.span.trace_id + 2 * i, &e->trace, 2);
	id_of(end.span.span_id, e->number);
	if (e->parent != NOWHERE)
		id_of(end.span.parent_id, e->parent);
	for (uint64_t i = 0; i < e->cpu; i++) {
		struct span_sight sight = {.name = e->name,
					   .name_size = strlen(e->name),
					   .resource = shop.shop,
					   .sampled = true,
					   .time_ns = 1,
					   .value_ns = SHOP_PERIOD_NS};

		memcpy(sight.trace_id, end.span.trace_id, sizeof(sight.trace_id));
		memcpy(sight.span_id, end.span.span_id, sizeof(sight.span_id));
		shop_add(&shop, shop.shop, spans_add(profile_get_spans(shop.profile), &sight), 1,
			 SHOP_STACK(SHOP_PRIMES, SHOP_CPU_HEAVY, SHOP_HTTP));
	}
	spans_end(profile_get_spans(shop.profile), &end, true);
}

#define END(...) end_span(&(struct ended){__VA_ARGS__, .failed = false})

/* The lines of the trace's section, without those before and behind. */
static void keep_trace(void)
{
	char *from = strstr(text, "The trace of span"), *kept, *to;

	assert_non_null(from);
	from = strstr(from, "\nspan ");
	assert_non_null(from);
	from = strchr(from + 1, '\n') + 1;
	to = strstr(from, "\n\n");
	assert_non_null(to);
	kept = strndup(from, (size_t)(to - from) + 1);
	free(text);
	text = kept;
}

#define BAR "\xe2\x94\x81"

/* Behind a line's indent, one space between columns. */
static void squeeze(void)
{
	char *to = text;
	bool indent = true;

	for (const char *from = text; *from; from++) {
		indent = *from == '\n' || (indent && *from == ' ');
		if (indent || *from != ' ' || from[1] != ' ')
			*to++ = *from;
	}
	*to = 0;
}

static void tree(void **state)
{
	END(7, 1, NOWHERE, "GET /report", 0, 400, 2);
	END(7, 4, 3, "encode", 210, 180, 17);
	END(7, 3, 1, "serialize", 200, 200, 1);
	END(7, 2, 1, "query", 20, 100, 0);
	END(8, 5, 1, "another trace", 0, 1000, 30);
	REPORT(.columns = 100);
	assert_has("\nThe trace of span 2\n"); /* the first one is all of its trace that is known */
	keep_trace();
	assert_int_equal(count_lines(), 4);
	squeeze();
	assert_has("GET /report 400 20 0 " BAR);
	assert_has("\n  query 100 0 20 " BAR);
	assert_has("\n  serialize 200 10 200 " BAR);
	assert_has("\n    encode 180 170 210 " BAR);
	assert_true(strstr(text, "query") < strstr(text, "serialize"));
	assert_true(strstr(text, "serialize") < strstr(text, "encode"));
	assert_lacks("another");
	/* 26 columns are 400 ms. */
	assert_int_equal(count_of(BAR), 26 + 7 + 13 + 12);
}

/* Spans that were open when the profile ended, which was 30 s after its start. */
static void still_open(void **state)
{
	struct span_end is = {.name = "GET /stuck", .name_size = 10};
	uint8_t parent[8];

	END(7, 2, 1, "query", 20, 100, 12);
	is.span = *spans_get(profile_get_spans(shop.profile), 1);
	memcpy(is.span.span_id, is.span.parent_id, sizeof(parent));
	memset(is.span.parent_id, 0, sizeof(parent));
	is.span.ended = false;
	is.span.start_wall_ns = SHOP_START_NS - 2000 * MS;
	spans_see_open(profile_get_spans(shop.profile), &is, SHOP_START_NS + 29900 * MS, true);
	REPORT(.columns = 100);
	assert_has("    took 100 ms, its own CPU is 120 % of that\n");
	keep_trace();
	squeeze();
	assert_has("GET /stuck 31,900+ 0 0 " BAR);
	assert_has("\n  query 100 120 2,020 ");
}

/* Was it open at the end? Nobody looked. */
static void seen_open_long_ago(void **state)
{
	struct span_end is = {.name = "GET /stuck", .name_size = 10};

	END(7, 2, 1, "query", 20, 100, 3);
	is.span = *spans_get(profile_get_spans(shop.profile), 1);
	is.span.span_id[0] = 99;
	is.span.ended = false;
	spans_see_open(profile_get_spans(shop.profile), &is, SHOP_START_NS + 20000 * MS, true);
	REPORT(.columns = 100);
	assert_lacks("The trace of span");
	assert_has("    took 100 ms\n"); /* too few samples to tell a share */
}

static void begun_before(void **state)
{
	struct span_end end = {.name = "GET /", .name_size = 5};

	END(7, 1, NOWHERE, "GET /", 0, 0, 20);
	end.span = *spans_get(profile_get_spans(shop.profile), 1);
	shop_close(&shop);
	shop_open(&shop);
	end.span.resource = shop.shop;
	end.span.start_wall_ns = SHOP_START_NS - 1500 * MS;
	end.span.duration_ns = 1700 * MS;
	end.span.status = SPAN_STATUS_ERROR;
	spans_end(profile_get_spans(shop.profile), &end, true);
	END(7, 1, NOWHERE, "GET /", 0, 0, 20);
	REPORT(.columns = 100);
	assert_has("    took 1,700 ms; it began 1,500 ms before the profile; failed\n");
}

/* A parent in another process, two that are each other's, one that is its own, equal IDs. */
static void odd_parents(void **state)
{
	END(7, 1, 99, "entry", 5, 100, 9);
	END(7, 2, 3, "ring a", 10, 10, 0);
	END(7, 3, 2, "ring b", 12, 5, 0);
	END(7, 4, 3, "below the ring", 13, 2, 0);
	END(7, 5, 5, "its own", 1, 2, 0);
	REPORT(.columns = 100);
	keep_trace();
	assert_int_equal(count_lines(), 5);
	assert_has("its own ");
	assert_has("\nentry ");
	assert_has("\nring a ");
	assert_has("\n  ring b ");
	assert_has("\n    below the ring ");
}

/* Times that no clock can have told. */
static void odd_times(void **state)
{
	END(7, 1, NOWHERE, "past its end", 0, UINT64_MAX / MS / 2, 1);
	END(7, 2, 1, "never", UINT64_MAX / MS / 2, UINT64_MAX / MS / 2, 0);
	REPORT(.columns = 100);
	keep_trace();
	assert_int_equal(count_lines(), 2);
	assert_narrower(100);
}

static void many_and_deep(void **state)
{
	for (uint16_t i = 1; i <= 1500; i++)
		END(7, i, i < 30 ? i - 1 : 1, "a span with a name of some length", i, 9, i == 1);
	REPORT(.columns = 100);
	assert_has("\nand 479 more\n"); /* half of 1,000 spans, less 21 lines */
	assert_narrower(100);
	REPORT(.columns = 42);
	assert_narrower(42);
}

static void alone(void **state)
{
	END(7, 1, NOWHERE, "GET /", 0, 400, 2);
	END(8, 2, NOWHERE, "GET /", 0, 400, 1);
	REPORT(.columns = 100);
	assert_lacks("The trace of span");
}

static void every_width(void **state)
{
	END(7, 1, NOWHERE, "GET /report", 0, 400, 20);
	END(7, 2, 1, "serialize \xe5\xa0\xb1\xe5\x91\x8a", 20, 100, 3);
	for (unsigned columns = 42; columns <= 130; columns++) {
		REPORT(.columns = columns);
		assert_narrower(columns);
		assert_has("serialize");
	}
}

/* Percentiles are within 1/16 of the exact ones. */
static void elapsed(void **state)
{
	for (uint16_t i = 1; i <= 100; i++)
		end_span(&(struct ended){i, i, NOWHERE, "GET /cpu-heavy", 0, i, i == 1, i <= 7});
	END(200, 200, NOWHERE, "one alone", 0, 9000, 0);
	REPORT(.columns = 100);
	assert_has("How long spans took\n");
	assert_has("\none alone ");
	assert_true(strstr(text, "\none alone ") < strstr(text, "\nGET /cpu-heavy "));
	assert_has("     100       7 ");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, open_empty, close_shop)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(tree),
		TEST(odd_parents),
		TEST(odd_times),
		TEST(still_open),
		TEST(seen_open_long_ago),
		TEST(begun_before),
		TEST(many_and_deep),
		TEST(alone),
		TEST(every_width),
		TEST(elapsed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
