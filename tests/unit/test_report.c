/* SPDX-License-Identifier: Apache-2.0 */
/* The closing report and the live table of a known profile, figure by figure. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "shop_report.h"

static void totals(void **state)
{
	REPORT(.columns = 100);
	assert_has(
		"30.0 s profiled \xc2\xb7 2 services (shop, cart) \xc2\xb7 1,000 samples \xc2\xb7 "
		"10.0 s CPU \xc2\xb7 90.0 % inside 25 spans\n");
	assert_has("CPU outside any span: 1,000 ms (10.0 %)\n");
	assert_lacks("Note:");
	assert_lacks("\033");
}

static void spans_in_order(void **state)
{
	const char *first, *second, *third;

	REPORT(.columns = 100, .spans_max = 3);
	first = strstr(text, " 1. GET /cpu-heavy \xc2\xb7 shop");
	second = strstr(text, " 2. GET /cpu-heavy \xc2\xb7 shop");
	third = strstr(text, " 3. GET /cpu-heavy \xc2\xb7 shop");
	assert_true(first && first < second && second < third);
	assert_lacks(" 4. ");
	assert_has("3,000 ms   30.0 %   300 samples\n");
	assert_has("2,000 ms   20.0 %   200 samples\n");
	assert_has("1,000 ms   10.0 %   100 samples\n");
	assert_has("    trace 2f000000640000006400000064000000  span 64000000000000b7\n");
	assert_lacks("not sampled");
}

static void lines_and_paths(void **state)
{
	REPORT(.columns = 100);
	assert_has("         2,700     2,700  main.countPrimes  shop/main.go:42\n"
		   "                            main.cpuHeavy \xe2\x86\x92 main.countPrimes\n"
		   "           300       300  main.countPrimes  shop/main.go:41\n");
	/* A line with callees: 6 samples on itself, 10 with mallocgc. */
	assert_has("            60       100  encoding/json.appendString[...]  "
		   "json/encode.go:1010\n");
	assert_has("            40        40  runtime.mallocgc                 "
		   "runtime/malloc.go:1023\n");
	assert_has("main.report \xe2\x86\x92 report.(*Report).Serialize \xe2\x86\x92 \xe2\x80\xa6 "
		   "\xe2\x86\x92 runtime.mallocgc\n");
	/* Recursion is one step, and counts once in the total. */
	assert_has("           400       400  main.walk  shop/tree.go:9\n"
		   "                            cart.(*Server).Add \xe2\x86\x92 main.walk \xc3\x97"
		   "3\n");
	assert_has("tcp_sendmsg                      [kernel]\n");
	/* Nothing of the service's own: from the outermost frame that says something. */
	assert_has("runtime.gcBgMarkWorker \xe2\x86\x92 runtime.gcDrain\n");
	REPORT(.columns = 160, .lines_max = 1);
	assert_has("main.countPrimes  /srv/shop/main.go:42\n");
	assert_lacks("main.go:41");
	assert_has("main.report \xe2\x86\x92 report.(*Report).Serialize \xe2\x86\x92 json.Marshal "
		   "\xe2\x86\x92 json.(*encodeState).reflectValue \xe2\x86\x92 "
		   "json.appendString[...]\n");
}

static void by_name(void **state)
{
	REPORT(.columns = 120);
	assert_has("service  spans samples   CPU ms   share  p50 ms  max ms  hottest function\n");
	assert_has("shop         3     600    6,000  60.0 %   2,000   3,000  main.countPrimes\n");
	/* mallocgc and the kernel are blamed on their callers. */
	assert_has("shop        20     240    2,400  24.0 %     120     120  "
		   "json.appendString[...]\n");
	assert_has("cart         1      40      400   4.0 %     400     400  main.walk\n");
	assert_has("shop         1      20      200   2.0 %     200     200  main.report\n");
}

static void every_width(void **state)
{
	static const unsigned columns[] = {42, 60, 61, 80, 99, 100, 139, 140, 200, 400};
	size_t i;

	for (i = 0; i < sizeof(columns) / sizeof(columns[0]); i++) {
		REPORT(.columns = columns[i], .spans_max = 30);
		assert_narrower(columns[i]);
		assert_has("64000000000000b7");
		assert_has("2f000000640000006400000064000000");
		LIVE(10, .columns = columns[i]);
		assert_narrower(columns[i]);
	}
	REPORT(.spans_max = 30); /* a pipe */
	assert_narrower(100);
	REPORT(.columns = 5);
	assert_narrower(42);
}

static void colors(void **state)
{
	size_t on;

	REPORT(.columns = 100, .color = true);
	on = count_of("\033[1m") + count_of("\033[2m");
	assert_true(on > 20);
	assert_int_equal(count_of("\033[0m"), on);
	assert_int_equal(count_of("\033"), 2 * on);
	assert_has("\033[1mGET /cpu-heavy\033[0m");
}

static void filters(void **state)
{
	REPORT(.columns = 100, .span_id = "64000000000000B7");
	assert_has(
		"Only span 64000000000000B7: 300 samples \xc2\xb7 3,000 ms CPU \xc2\xb7 30.0 % of "
		"all \xc2\xb7 1 span\n");
	assert_has("3,000 ms  100.0 %   300 samples\n");
	assert_lacks(" 2. ");
	assert_lacks("By span name");
	assert_lacks("outside any span");
	REPORT(.columns = 100, .trace_id = "670100002c0100002c0100002c010000");
	assert_has("cart.CartService/Add");
	assert_lacks("cpu-heavy");
	REPORT(.columns = 100, .span_name = "serialize");
	assert_has(
		": 240 samples \xc2\xb7 2,400 ms CPU \xc2\xb7 24.0 % of all \xc2\xb7 20 spans\n");
	REPORT(.columns = 100, .service = "cart");
	assert_has("Only service \"cart\": 70 samples");
	assert_has("CPU outside any span: 300 ms (42.9 %)\n");
	REPORT(.columns = 100, .service = "cart", .span_name = "serialize");
	assert_has(
		"None of the 1,000 samples matches span name \"serialize\" service \"cart\". Names "
		"are compared whole.");
	REPORT(.columns = 100, .span_name = "a\x1b[2Jb");
	assert_has("matches span name \"a\xef\xbf\xbd[2Jb\". Names");
	assert_lacks("\x1b");
}

static void empty_profile(void **state)
{
	REPORT(.columns = 100);
	assert_string_equal(text,
			    "No samples: nothing that was profiled used the CPU in 30.0 s.\n");
	LIVE(5, .columns = 100);
	assert_int_equal(count_lines(), 1);
}

static void without_spans(void **state)
{
	shop_add(&shop, shop.shop, 0, 7, SHOP_STACK(SHOP_PRIMES, SHOP_CPU_HEAVY, SHOP_FRAMES));
	REPORT(.columns = 100);
	assert_has("0.0 % inside 0 spans\n");
	assert_has("No sample belongs to a span: none that could be seen was open where the CPU "
		   "time went.\n");
	assert_has("CPU outside any span: 70 ms (100.0 %)\n");
	assert_has("main.cpuHeavy \xe2\x86\x92 main.countPrimes\n");
	assert_lacks("Spans with the most CPU");
}

/* One line by two call paths, the rarer one with the more frequent single stack. */
static void two_call_paths(void **state)
{
	uint32_t span = shop_span(&shop, shop.shop, 1, "both");

	shop_add(&shop, shop.shop, span, 4, SHOP_STACK(SHOP_PRIMES, SHOP_CPU_HEAVY, SHOP_HTTP));
	shop_add(&shop, shop.shop, span, 3, SHOP_STACK(SHOP_PRIMES, SHOP_REPORT, SHOP_HTTP));
	shop_add(&shop, shop.shop, span, 3,
		 SHOP_STACK(SHOP_PRIMES, SHOP_PRIMES, SHOP_REPORT, SHOP_HTTP));
	REPORT(.columns = 100);
	assert_has("           100       100  main.countPrimes");
	assert_has("60.0 %  main.report \xe2\x86\x92 main.countPrimes");
	assert_lacks("main.cpuHeavy");
}

/* As labels of other tracers have it. */
static void a_span_without_a_trace(void **state)
{
	const struct location *leaf[] = {shop.at[SHOP_PRIMES]};
	struct sample_input sample = {leaf, 1, false, shop.shop, 0, 2000};
	struct span_sight sight = {.name = "", .span_id = {2}};

	sample.span = spans_add(profile_get_spans(shop.profile), &sight);
	assert_int_equal(profile_add(shop.profile, &sample), 0);
	REPORT(.columns = 100);
	assert_has("span 0200000000000000\n"
		   "    its labels name no trace: nothing can link it\n");
	assert_lacks("not sampled");
}

static void notes(void **state)
{
	const struct location *leaf[] = {shop.at[SHOP_PRIMES]};
	struct sample_input cut = {leaf, 1, true, shop.shop, 0, 3};
	struct span_sight sight = {.name = "", .trace_id = {1}, .span_id = {2}};

	assert_int_equal(profile_add(shop.profile, &cut), 0);
	cut.truncated = false;
	cut.count = 2;
	cut.span = spans_add(profile_get_spans(shop.profile), &sight);
	assert_int_equal(profile_add(shop.profile, &cut), 0);
	REPORT(.columns = 100);
	assert_has("\n\nNote: samples whose stack lacks frames: 3.\n");
	assert_has(" 1. (no name) \xc2\xb7 shop");
	assert_has("    not sampled by the tracer: no trace backend has it\n");
	assert_lacks("no room");
	cut.span = PROFILE_SPAN_LOST;
	cut.count = 4;
	assert_int_equal(profile_add(shop.profile, &cut), 0);
	REPORT(.columns = 100);
	assert_has(
		"\nNote: samples of spans for which there was no room, counted as outside: 4.\n");
	assert_lacks("sampled out");
	cut.span = PROFILE_SPAN_UNSAMPLED;
	cut.count = 5;
	assert_int_equal(profile_add(shop.profile, &cut), 0);
	REPORT(.columns = 100);
	assert_has("5 samples of these are of spans that the tracer sampled out\n");
}

/* A stack of nothing known, and one as deep as a runaway recursion between two functions. */
static void odd_stacks(void **state)
{
	static enum shop_frame deep[401];
	uint32_t span = shop_span(&shop, shop.shop, 1, "odd");
	int i;

	for (i = 0; i < 400; i++)
		deep[i] = i % 2 ? SHOP_TREE : SHOP_PRIMES;
	deep[400] = SHOP_FRAMES;
	shop_add(&shop, shop.shop, span, 5, deep);
	shop_add(&shop, shop.shop, span, 4, SHOP_STACK(SHOP_FRAMES));
	REPORT(.columns = 100);
	assert_narrower(100);
	assert_has("            50        50  main.countPrimes");
	assert_has("main.walk \xe2\x86\x92 \xe2\x80\xa6 \xe2\x86\x92 ");
	assert_has("            40        40  [unknown]");
}

static void live_table(void **state)
{
	LIVE(6, .columns = 60);
	assert_int_equal(count_lines(), 6);
	assert_has("span name           spans samples   CPU ms  hottest function\n");
	assert_has("     3     600    6,000  main.countPrimes\n");
	assert_has("(outside any span)");
	LIVE(4, .columns = 100);
	assert_int_equal(count_lines(), 4);
	assert_has("\xe2\x80\xa6 and 3 more names, 3,000 ms CPU\n");
	assert_has("(outside any span)                  ");
	LIVE(1, .columns = 100);
	assert_int_equal(count_lines(), 1);
	LIVE(2, .columns = 100);
	assert_int_equal(count_lines(), 2);
	assert_has("(outside any span)");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(totals, open_shop, close_shop),
		cmocka_unit_test_setup_teardown(spans_in_order, open_shop, close_shop),
		cmocka_unit_test_setup_teardown(lines_and_paths, open_shop, close_shop),
		cmocka_unit_test_setup_teardown(by_name, open_shop, close_shop),
		cmocka_unit_test_setup_teardown(every_width, open_shop, close_shop),
		cmocka_unit_test_setup_teardown(colors, open_shop, close_shop),
		cmocka_unit_test_setup_teardown(filters, open_shop, close_shop),
		cmocka_unit_test_setup_teardown(live_table, open_shop, close_shop),
		cmocka_unit_test_setup_teardown(empty_profile, open_empty, close_shop),
		cmocka_unit_test_setup_teardown(without_spans, open_empty, close_shop),
		cmocka_unit_test_setup_teardown(two_call_paths, open_empty, close_shop),
		cmocka_unit_test_setup_teardown(notes, open_empty, close_shop),
		cmocka_unit_test_setup_teardown(a_span_without_a_trace, open_empty, close_shop),
		cmocka_unit_test_setup_teardown(odd_stacks, open_empty, close_shop),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
