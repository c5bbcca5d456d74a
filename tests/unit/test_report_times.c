/* SPDX-License-Identifier: Apache-2.0 */
/* Time on a CPU and off by span name, and of the spans of a trace. */
#include "shop_waits.h"

/* Three names: a fetch that waits, a report that computes, one of each kind off the CPU. */
static void fill_names(void)
{
	uint32_t span;

	for (uint32_t i = 1; i <= 3; i++) {
		span = span_at(i, "fetch", 0, 3000);
		receive(span, 2000 + i);
		stand(span, PROFILE_WAIT_SYSCALL, "[syscall]", 900, SHOP_REPORT);
	}
	span = span_at(4, "GET /report", 0, 2000);
	run(span, 150);
	receive(span, 100);
	stand(span, PROFILE_WAIT_RUNNABLE, "[runnable]", 250, SHOP_CPU_HEAVY);
	span = span_at(5, "throttled", 0, 1000);
	run(span, 10);
	stand(span, PROFILE_WAIT_NO_CPU, "[not on cpu]", 300, SHOP_FRAMES);
	stand(span, PROFILE_WAIT_THROTTLED, "[cpu throttled]", 500, SHOP_FRAMES);
	receive(span_at(6, "throttled", 0, 100), 50); /* no sample: in no median of them */
}

static void by_name(void **state)
{
	fill_names();
	REPORT(.columns = 120);
	assert_has(
		"\nBy span name\n"
		"in ms; runnable: no P had taken the goroutine; not on CPU: its thread had none\n"
		"span name    spans   CPU ms  runnable   waiting  not on CPU  top reason\n"
		"fetch            3        0         0     8,706           0  "
		"chan receive in report.(*Report).Serialize serialize.go:31\n"
		"GET /report      1    1,500       250       100           0  "
		"runnable in main.cpuHeavy main.go:57\n"
		"throttled        2      100         0        50         800  cpu throttled\n");
	/* Names that only waited are not in the one of CPU time. */
	assert_has("\nCPU by span name\n"
		   "p50, max: CPU of one span, over the spans that were seen on a CPU\n"
		   "span name           spans samples   CPU ms   share  p50 ms  max ms  hottest "
		   "function\n"
		   "GET /report             1     150    1,500  93.8 %   1,500   1,500  "
		   "main.countPrimes\n"
		   "throttled               1      10      100   6.2 %     100     100  "
		   "main.countPrimes\n\n");
	/* The line is left out before the place is cut. */
	REPORT(.columns = 105);
	assert_has("8,706           0  chan receive in report.(*Report).Serialize\n");
	LIVE(5, .columns = 100);
	assert_lacks("fetch");
	assert_has("main.countPrimes");
}

/* Where there is no room beside the numbers a reason has its own line; none of both is lost. */
static void by_name_narrow(void **state)
{
	fill_names();
	REPORT(.columns = 80);
	assert_has("span name    spans   CPU ms  runnable   waiting  not on CPU\n"
		   "fetch            3        0         0     8,706           0\n"
		   "    chan receive in report.(*Report).Serialize serialize.go:31\n"
		   "GET /report      1    1,500       250       100           0\n"
		   "    runnable in main.cpuHeavy main.go:57\n"
		   "throttled        2      100         0        50         800\n"
		   "    cpu throttled\n");
	REPORT(.columns = 42);
	assert_has("span name     CPU ms   waiting\n"
		   "fetch              0     8,706\n"
		   "    chan receive in report.(*Report).Seri\xe2\x80\xa6\n"
		   "GET /report    1,500       100\n");
	assert_has("\n 1. fetch \xc2\xb7 shop             2,903 ms seen\n");
}

static void names_of_services(void **state)
{
	uint32_t span = shop_span(&shop, shop.cart, 9, "fetch");

	fill_names();
	shop_add(&shop, shop.cart, span, 900, SHOP_STACK(SHOP_TREE, SHOP_CART, SHOP_FRAMES));
	REPORT(.columns = 120);
	/* What the cart's span waited nobody knows. */
	assert_has("\nfetch \xc2\xb7 cart            1    9,000\n");
	assert_has("\nfetch \xc2\xb7 shop            3        0 ");
}

static void many_names(void **state)
{
	for (uint32_t i = 0; i < 30; i++) {
		char name[32];

		snprintf(name, sizeof(name), "name %02u", i);
		receive(span_at(i + 1, name, 0, 3000), i < 21 ? 2000 : 100);
	}
	REPORT(.columns = 100);
	assert_has("\nname 20 ");
	assert_lacks("\nname 21 ");
	assert_has("\n\xe2\x80\xa6 and 9 more names, 900 ms\n");
}

static void every_width(void **state)
{
	fill_names();
	receive(span_at(7, "GET /\xe5\xa0\xb1\xe5\x91\x8a/a/name/longer/than/any/column", 0, 900),
		300);
	for (unsigned columns = 42; columns <= 180; columns++) {
		REPORT(.columns = columns);
		assert_narrower(columns);
		assert_has("chan receive in ");
		assert_has("8,706"); /* waiting, of all three fetches */
	}
}

/* Both times of each span of a trace, whatever is chosen. */
static void trace(void **state)
{
	struct span_end child = {.name = "query", .name_size = 5};
	uint32_t root = span_at(1, "GET /", 0, 400), inner;

	child.span = *spans_get(profile_get_spans(shop.profile), root);
	memcpy(child.span.parent_id, child.span.span_id, 8);
	child.span.span_id[0] = 2;
	child.span.duration_ns = 250 * MS;
	child.span.samples = child.span.value_ns = 0;
	inner = spans_absorb(profile_get_spans(shop.profile), &child.span, "query");
	assert_true(inner > root);
	shop_span(&shop, shop.shop, 1, "GET /"); /* 10 ms */
	run(root, 1);
	receive(root, 140);
	receive(inner, 245);
	REPORT(.columns = 100);
	assert_has("    took ms    CPU ms  off CPU ms  starts ms\n");
	assert_has("       400        10         140          0  \xe2\x94\x81");
	assert_has("       250         0         245          0  \xe2\x94\x81");
	/* Of one of them: the other's stands beside it all the same. */
	REPORT(.columns = 100, .span_id = "02000000000000b7");
	assert_has("       400        10         140          0  \xe2\x94\x81");
	REPORT(.columns = 60);
	assert_has("    took ms    CPU ms  off CPU ms\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(by_name),	  TEST(by_name_narrow), TEST(names_of_services),
		TEST(many_names), TEST(every_width),	TEST(trace),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
