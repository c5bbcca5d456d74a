/* SPDX-License-Identifier: Apache-2.0 */
/* A span's time as a sum, how much of it is accounted for, and spans that only waited. */
#include "report/select.h"
#include "shop_waits.h"

static void sum_in_seconds(void **state)
{
	uint32_t span = span_at(1, "fetch", 100, 5000);

	run(span, 20);
	stand(span, PROFILE_WAIT_RUNNABLE, "[runnable]", 100, SHOP_REPORT);
	receive(span, 4700);
	REPORT(.columns = 120, .span_id = "01000000000000b7");
	assert_has("    5.00 s = 0.20 s CPU + 0.10 s runnable + 4.70 s waiting (chan receive in "
		   "report.(*Report).Serialize serialize.go:31)\n"
		   /* Samples: 10 ms x sqrt(20); looks: 10 ms x sqrt(480 x 0.04 + 2). */
		   "    accounted for: 100.0 % \xc2\xb1 1 %\n");
}

/* In fixed order; what rounds to nothing is left out, so is what there is none of. */
static void parts_in_order(void **state)
{
	uint32_t span = span_at(1, "all", 0, 1500);

	stand(span, PROFILE_WAIT_THROTTLED, "[cpu throttled]", 60, SHOP_REPORT);
	stand(span, PROFILE_WAIT_NO_CPU, "[not on cpu]", 50, SHOP_FRAMES);
	stand(span, PROFILE_WAIT_SYSCALL, "[syscall: pipe_read]", 700, SHOP_REPORT);
	receive(span, 300);
	stand(span, PROFILE_WAIT_PARKED, "[select]", 301, SHOP_REPORT);
	stand(span, PROFILE_WAIT_RUNNABLE, "[runnable]", 20, SHOP_REPORT);
	run(span, 1);
	REPORT(.columns = 400);
	assert_has("    1.50 s = 0.01 s CPU + 0.02 s runnable + 0.60 s waiting + 0.70 s in system "
		   "calls (syscall: pipe_read in main.report main.go:88) + 0.05 s not on a CPU + "
		   "0.06 s throttled\n");
	span = span_at(2, "few", 0, 1500);
	run(span, 100);
	stand(span, PROFILE_WAIT_RUNNABLE, "[runnable]", 4, SHOP_REPORT);
	receive(span, 5);
	REPORT(.columns = 400, .span_name = "few");
	assert_has("    1.50 s = 1.00 s CPU + 0.01 s waiting (chan receive in ");
	assert_lacks("runnable");
}

static void sum_in_milliseconds(void **state)
{
	uint32_t span = span_at(1, "short", 0, 80);

	run(span, 2);
	receive(span, 58);
	stand(span, PROFILE_WAIT_SYSCALL, "[syscall]", 1, SHOP_FRAMES);
	REPORT(.columns = 160);
	assert_has("    80 ms = 20 ms CPU + 58 ms waiting (chan receive in "
		   "report.(*Report).Serialize serialize.go:31) + 1 ms in system calls\n"
		   /* 10 ms x sqrt(2 + 5.9 x 0.2625 + 2), of 80 ms. */
		   "    accounted for: 98.8 % \xc2\xb1 29 %\n");
	span = span_at(3, "shorter than a look", 0, 12);
	receive(span, 10);
	REPORT(.columns = 120, .span_name = "shorter than a look");
	assert_has("    too short to be accounted for\n");
	assert_lacks("accounted for:");
	span = span_at(2, "nothing of it seen", 0, 9000);
	receive(span, 3);
	REPORT(.columns = 120, .span_name = "nothing of it seen");
	assert_has("    9.00 s\n    accounted for: 0.0 % \xc2\xb1 0.2 %\n");
}

static void several_goroutines(void **state)
{
	uint32_t span = span_at(1, "fan out", 0, 1000);

	run(span, 60);
	receive(span, 2520);
	REPORT(.columns = 120);
	assert_has("    1.00 s = 0.60 s CPU + 2.52 s waiting (chan ");
	assert_has("    work of several goroutines at once: 312 %\n");
	assert_lacks("accounted");
	/* What chance explains does not say so: 10 ms x sqrt(103) and twice that are 10 and 20 %.
	 */
	run(span_at(2, "busy", 0, 1000), 103);
	REPORT(.columns = 120, .span_name = "busy");
	assert_has("    accounted for: 103.0 % \xc2\xb1 10 %\n");
	run(span_at(3, "busier", 0, 1000), 121);
	run(spans_count(profile_get_spans(shop.profile)), 3);
	REPORT(.columns = 120, .span_name = "busier");
	assert_has("    work of several goroutines at once: 124 %\n");
}

static void no_place_known(void **state)
{
	uint32_t span = span_at(1, "dark", 0, 2000);

	stand(span, PROFILE_WAIT_PARKED, "[sleep]", 2000, SHOP_FRAMES);
	REPORT(.columns = 120);
	assert_has("    2.00 s = 2.00 s waiting (sleep)\n");
}

/* Only what came after the profile's start can have been seen. */
static void begun_before(void **state)
{
	uint32_t span = span_at(1, "early", 0, 0);
	struct span_end is = {.name = "early", .name_size = 5};

	is.span = *spans_get(profile_get_spans(shop.profile), span);
	shop_close(&shop);
	open_looked_at(state);
	span = shop_span(&shop, shop.shop, 1, "early");
	is.span.resource = shop.shop;
	is.span.start_wall_ns = SHOP_START_NS - 2000 * MS;
	is.span.duration_ns = 7000 * MS;
	is.span.status = SPAN_STATUS_ERROR;
	spans_end(profile_get_spans(shop.profile), &is, true);
	receive(span, 4900);
	REPORT(.columns = 140);
	assert_has("    7.00 s, seen for 5.00 s = 4.90 s waiting (chan receive in ");
	assert_has("    accounted for: 98.0 % \xc2\xb1 0.7 %; it began 2,000 ms before the "
		   "profile; failed\n");
}

static void still_open(void **state)
{
	uint32_t span = shop_span(&shop, shop.shop, 1, "stuck");
	struct span_end is = {.name = "stuck", .name_size = 5};

	is.span = *spans_get(profile_get_spans(shop.profile), span);
	is.span.resource = shop.shop;
	is.span.start_wall_ns = SHOP_START_NS - 1000 * MS;
	spans_see_open(profile_get_spans(shop.profile), &is, SHOP_START_NS + 29950 * MS, true);
	receive(span, 29000);
	REPORT(.columns = 140);
	assert_has("    still open after 30.95 s, seen for 29.95 s = 29.00 s waiting (chan ");
	assert_has("    accounted for: 96.8 % \xc2\xb1 0.3 %; it began 1,000 ms before the "
		   "profile\n");
}

/* How long a span took or how often one looked may be unknown, then less is told. */
static void unknowns(void **state)
{
	uint32_t span = shop_span(&shop, shop.shop, 1, "no times");

	run(span, 4);
	receive(span, 300);
	REPORT(.columns = 120);
	assert_has("    40 ms CPU + 300 ms waiting (chan receive in report.(*Report).Serialize "
		   "serialize.go:31)\n");
	assert_lacks("accounted");
	profile_set_look_interval(shop.profile, 0);
	receive(span_at(2, "no interval", 0, 2000), 1900);
	REPORT(.columns = 120, .span_name = "no interval");
	assert_has("    accounted for: 95.0 %\n");
}

/* In a process where nobody looked only CPU is known. */
static void not_looked_at(void **state)
{
	struct span_end end = {.name = "cart", .name_size = 4};
	struct spans *spans = profile_get_spans(shop.profile);
	uint32_t span = shop_span(&shop, shop.cart, 1, "cart");

	receive(span_at(2, "fetch", 0, 2000), 1900);
	end.span = *spans_get(spans, span);
	end.span.ended = true;
	end.span.resource = shop.cart;
	end.span.start_wall_ns = SHOP_START_NS;
	end.span.duration_ns = 400 * MS;
	spans_end(spans, &end, true);
	shop_add(&shop, shop.cart, span, 20, SHOP_STACK(SHOP_TREE, SHOP_CART, SHOP_FRAMES));
	REPORT(.columns = 120, .span_name = "cart");
	assert_has("    took 400 ms, its own CPU is 50 % of that\n");
	assert_lacks("accounted");
	/* In one where one did, it is a span that did not wait. */
	run(span_at(3, "busy", 0, 400), 39);
	REPORT(.columns = 120, .span_name = "busy");
	assert_has("    400 ms = 390 ms CPU\n    accounted for: 97.5 % \xc2\xb1 16 %\n");
}

/* Ordered by all time that was seen; found by every filter. */
static void spans_that_only_waited(void **state)
{
	const struct report_options filters[] = {
		{.columns = 140, .span_id = "01000000000000b7"},
		{.columns = 140, .trace_id = "4a000000010000000100000001000000"},
		{.columns = 140, .span_name = "only waits"},
	};
	uint32_t waits = span_at(1, "only waits", 0, 5000), busy = span_at(2, "busy", 0, 2000);

	receive(waits, 5000);
	run(busy, 200);
	REPORT(.columns = 140);
	assert_has("200 samples \xc2\xb7 2.0 s CPU \xc2\xb7 100.0 % inside 1 span \xc2\xb7 5.0 s "
		   "off CPU of 1 span\n");
	assert_has("Spans with the most time, on a CPU and off\n");
	assert_has("\n 1. only waits \xc2\xb7 shop ");
	assert_has("5,000 ms seen       0 ms CPU    0.0 %\n");
	assert_has("\n 2. busy \xc2\xb7 shop ");
	assert_has("2,000 ms seen   2,000 ms CPU  100.0 %\n");
	assert_has("       self ms  total ms  hottest lines\n"); /* of the second */
	for (size_t i = 0; i < sizeof(filters) / sizeof(filters[0]); i++) {
		render(&filters[i], 0);
		assert_has(": 0 samples \xc2\xb7 0 ms CPU \xc2\xb7 0.0 % of all \xc2\xb7 1 span "
			   "\xc2\xb7 5.0 s off CPU\n");
		assert_has("\n 1. only waits \xc2\xb7 shop ");
		assert_has("    5.00 s = 5.00 s waiting (chan receive in "
			   "report.(*Report).Serialize serialize.go:31)\n");
		assert_lacks("busy");
		assert_lacks("self:");
	}
	REPORT(.columns = 200, .span_name = "nobody");
	assert_has("Spans are seen only where they were on a CPU at a sample, or off it at a look");
}

/* A selection has all of them, as the profile has, and knows how often one looked. */
static void selected(void **state)
{
	const struct report_options filter = {.service = "shop"};
	struct profile *part = NULL;
	struct profile_view v;
	size_t known = 0;

	for (uint32_t i = 1; i <= 20; i++)
		receive(span_at(i, "only waits", 0, 5000), 100 + i);
	assert_int_equal(report_select(shop.profile, &filter, &part), 0);
	profile_get_view(part, &v);
	assert_int_equal(v.look_interval_ns, 10 * MS);
	assert_int_equal(v.wait_count, 21);
	for (size_t i = 1; i < v.wait_count; i++)
		known += v.waits[i].span > 0;
	assert_int_equal(known, 20);
	profile_close(part);
}

static void nothing_on_a_cpu(void **state)
{
	receive(span_at(1, "only waits", 0, 5000), 5000);
	REPORT(.columns = 140);
	assert_lacks("No samples");
	assert_has("1 service (shop) \xc2\xb7 0 samples \xc2\xb7 0.0 s CPU \xc2\xb7 0.0 % inside "
		   "0 spans \xc2\xb7 5.0 s off CPU of 1 span\n");
	assert_has("\n 1. only waits \xc2\xb7 shop ");
}

/* Only with --wait-all: most time first, and how many goroutines stood there on average. */
static void outside_spans(void **state)
{
	const struct report_options all = {0}, filter = {.span_name = "fetch"};
	struct profile *part;
	struct profile_view v;

	profile_set_end(shop.profile, SHOP_START_NS + 2000 * MS);
	stand(0, PROFILE_WAIT_PARKED, "[select]", 2000, SHOP_REPORT);
	receive(0, 1500 * 2000);
	stand(0, PROFILE_WAIT_NO_CPU, "[not on cpu]", 30, SHOP_FRAMES);
	receive(span_at(1, "fetch", 0, 1000), 1000);
	REPORT(.columns = 100);
	assert_has("\nOff CPU outside any span\n"
		   "goroutines: how many stood there on average\n"
		   "        time  goroutines  what for\n"
		   "    3000.0 s     1,500.0  chan receive in report.(*Report).Serialize "
		   "serialize.go:31\n"
		   "       2.0 s         1.0  select in main.report main.go:88\n"
		   "       0.0 s         0.0  not on cpu\n");
	/* They are in no span's sum. */
	REPORT(.columns = 200);
	assert_has("1.0 s off CPU of 1 span\n");
	REPORT(.columns = 60);
	assert_has("    3000.0 s     1,500.0  chan receive in report.(*Repor");
	REPORT(.columns = 100, .span_name = "fetch");
	assert_lacks("outside any span");
	assert_int_equal(report_select(shop.profile, &filter, &part), 0);
	profile_get_view(part, &v);
	assert_int_equal(v.wait_count, 2);
	profile_close(part);
	assert_int_equal(report_select(shop.profile, &all, &part), 0);
	profile_get_view(part, &v);
	assert_int_equal(v.wait_count, 5);
	profile_close(part);
	for (uint64_t i = 1; i <= 30; i++)
		stand(0, PROFILE_WAIT_PARKED, (char[]){'[', (char)('A' + i), ']', 0}, i,
		      SHOP_REPORT);
	REPORT(.columns = 100);
	assert_has("\xe2\x80\xa6 and 12 more places, 0.1 s\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(sum_in_seconds),
		TEST(parts_in_order),
		TEST(sum_in_milliseconds),
		TEST(several_goroutines),
		TEST(no_place_known),
		TEST(begun_before),
		TEST(still_open),
		TEST(unknowns),
		TEST(not_looked_at),
		TEST(spans_that_only_waited),
		TEST(selected),
		TEST(nothing_on_a_cpu),
		TEST(outside_spans),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
