/* SPDX-License-Identifier: Apache-2.0 */
/* How open spans are printed: on a terminal of some width, and into a pipe. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/bytes.h"
#include "base/location.h"
#include "report/dump.h"
#include "report/paint.h"

#define ELLIPSIS "\xe2\x80\xa6"
#define DOT	 "\xc2\xb7"

static const struct frame lock = {"sync.(*Mutex).Lock", "/usr/local/go/src/sync/mutex.go", 46, 0},
			  transfer = {"example.com/bank/accounts.(*Store).transfer",
				      "/src/bank/accounts/store.go", 52, 0},
			  assembly = {"main.spin", "", 0, 0};
static const struct frame *const stack[] = {&lock, &transfer, &assembly};

static const struct dump_candidate candidates[] = {
	{"other transfer", {0xb, 0xad, 0, 0, 0, 0, 0, 1}, 35, &transfer},
};

static struct dump_goroutine goroutine(void)
{
	return (struct dump_goroutine){
		.goid = 34, .state = "[sync.Mutex.Lock]", .frames = stack, .frame_count = 3};
}

static struct dump_span span_of(const struct dump_goroutine *goroutines, size_t count)
{
	return (struct dump_span){
		.name = "transfer",
		.trace_id = {0x4b, [15] = 0xf1},
		.span_id = {0xdf, [7] = 0x7a},
		.age_ns = 12345000000,
		.goroutines = goroutines,
		.goroutine_count = count,
	};
}

static void expect(struct buffer *out, const char *text)
{
	buffer_add(out, "", 1);
	assert_false(out->failed);
	assert_string_equal((const char *)out->data, text);
	buffer_close(out);
}

static void expect_span(unsigned columns, bool color, const struct dump_span *span,
			const char *text)
{
	const struct dump_options options = {color, columns};
	struct buffer out;

	buffer_open(&out, 65536);
	dump_print_span(&options, 1, span, &out);
	expect(&out, text);
}

static void test_head(void **state)
{
	const uint64_t goids[] = {7, 12};
	struct dump_head head = {.service = "shop", .pid = 42, .goroutines = 1234};
	const struct dump_options options = {false, 0};
	struct buffer out;

	buffer_open(&out, 4096);
	dump_print_head(&options, &head, &out);
	expect(&out, "no open spans " DOT " shop (pid 42) " DOT " 1,234 goroutines\n");
	head = (struct dump_head){"shop", 42, 1, 1, 1, 1, goids, 1};
	buffer_open(&out, 4096);
	dump_print_head(&options, &head, &out);
	expect(&out, "1 open span " DOT " shop (pid 42) " DOT " 1 goroutine\n"
		     "1 goroutine ran each time it was looked at, and could not be read: number 7\n"
		     "1 more goroutine with open spans left out: there is no room for them\n");
	head = (struct dump_head){"shop", 42, 2, 9, 0, 3, goids, 2};
	buffer_open(&out, 4096);
	dump_print_head(&options, &head, &out);
	expect(&out,
	       "2 open spans " DOT " shop (pid 42) " DOT " 9 goroutines\n"
	       "3 goroutines ran each time they were looked at, and could not be read: number "
	       "7, 12 " ELLIPSIS "\n");
}

/* A pipe has room for all; a terminal leaves out paths first. */
static void test_widths(void **state)
{
	const struct dump_goroutine g = goroutine();
	struct dump_span span = span_of(&g, 1);

	expect_span(0, false, &span,
		    "\n 1. transfer                                                              "
		    "12.3 s\n"
		    "    trace 4b0000000000000000000000000000f1  span df0000000000007a\n"
		    "    goroutine 34 [sync.Mutex.Lock]\n"
		    "      sync.(*Mutex).Lock                           sync/mutex.go:46\n"
		    "      example.com/bank/accounts.(*Store).transfer  accounts/store.go:52\n"
		    "      main.spin\n");
	expect_span(60, false, &span,
		    "\n 1. transfer                                          12.3 s\n"
		    "    trace 4b0000000000000000000000000000f1\n"
		    "    span df0000000000007a\n"
		    "    goroutine 34 [sync.Mutex.Lock]\n"
		    "      sync.(*Mutex).Lock                sync/mutex.go:46\n"
		    "      accounts.(*Store).transfer        accounts/store.go:52\n"
		    "      main.spin\n");
	span.name = "a name that takes more columns than there are on this one terminal";
	expect_span(44, false, &span,
		    "\n 1. a name that takes more columns " ELLIPSIS "  12.3 s\n"
		    "    trace 4b0000000000000000000000000000f1\n"
		    "    span df0000000000007a\n"
		    "    goroutine 34 [sync.Mutex.Lock]\n"
		    "      sync.(*Mutex).Lock  sync/mutex.go:46\n"
		    "      " ELLIPSIS "Store).transfer  accounts/store.go:52\n"
		    "      main.spin\n");
}

/* Who has but a context, who works for another span, and whose stack goes on. */
static void test_goroutines(void **state)
{
	static const uint8_t inner[8] = {0xaa, [7] = 0xbb};
	struct dump_goroutine all[3] = {goroutine(), goroutine(), goroutine()};
	struct dump_span span = span_of(all, 3);

	all[0].other_span_id = inner;
	all[0].frame_count = 1;
	all[1].by_context = true;
	all[1].goid = 35;
	all[1].state = "[select]";
	all[1].frame_count = 0;
	all[1].deeper = 3;
	all[2].goid = 36;
	all[2].frame_count = 0;
	all[2].by_context = true;
	all[2].other_span_id = inner;
	span.goroutines_more = 2;
	span.age_ns = 0;
	expect_span(
		0, false, &span,
		"\n 1. transfer                                                                0 "
		"ms\n"
		"    trace 4b0000000000000000000000000000f1  span df0000000000007a\n"
		"    goroutine 34 [sync.Mutex.Lock], now in span aa000000000000bb\n"
		"      sync.(*Mutex).Lock  sync/mutex.go:46\n"
		"    goroutine 35 [select] by its context\n"
		"      " ELLIPSIS " 3 or more frames further out\n"
		"    goroutine 36 [sync.Mutex.Lock] by its context, now in span aa000000000000bb\n"
		"    and 2 more goroutines\n");
}

static void test_candidates(void **state)
{
	struct dump_goroutine g = goroutine();
	struct dump_span span = span_of(&g, 1);

	g.frame_count = 1;
	g.candidates = candidates;
	g.candidate_count = 1;
	g.candidates_more = 41;
	g.for_lock = true;
	expect_span(80, false, &span,
		    "\n 1. transfer                                                              "
		    "12.3 s\n"
		    "    trace 4b0000000000000000000000000000f1  span df0000000000007a\n"
		    "    goroutine 34 [sync.Mutex.Lock]\n"
		    "      sync.(*Mutex).Lock  sync/mutex.go:46\n"
		    "      may be held by: span 0bad000000000001 other transfer (goroutine 35,\n"
		    "      accounts.(*Store).transfer store.go:52)\n"
		    "      may be held by: 41 more\n");
	g.for_lock = false;
	g.candidates_more = 0;
	expect_span(0, false, &span,
		    "\n 1. transfer                                                              "
		    "12.3 s\n"
		    "    trace 4b0000000000000000000000000000f1  span df0000000000007a\n"
		    "    goroutine 34 [sync.Mutex.Lock]\n"
		    "      sync.(*Mutex).Lock  sync/mutex.go:46\n"
		    "      may wait for: span 0bad000000000001 other transfer (goroutine 35, "
		    "accounts.(*Store).transfer store.go:52)\n");
}

static void test_ages(void **state)
{
	static const struct {
		uint64_t ns;
		const char *text;
	} ages[] = {{999999999, " 999 ms\n"},		{1000000000, " 1.0 s\n"},
		    {59999999999, " 59.9 s\n"},		{60000000000, " 1 min 0 s\n"},
		    {3599000000000, " 59 min 59 s\n"},	{3600000000000, " 1 h 0 min\n"},
		    {360061000000000, " 100 h 1 min\n"}};
	struct dump_span span = span_of(NULL, 0);

	for (size_t i = 0; i < sizeof(ages) / sizeof(*ages); i++) {
		const struct dump_options options = {false, 80};
		struct buffer out;
		const char *line_end;

		span.age_ns = ages[i].ns;
		buffer_open(&out, 4096);
		dump_print_span(&options, 12345, &span, &out);
		buffer_add(&out, "", 1);
		line_end = strchr((const char *)out.data + 1, '\n') + 1;
		assert_memory_equal(line_end - strlen(ages[i].text), ages[i].text,
				    strlen(ages[i].text));
		assert_int_equal(line_end - (const char *)out.data - 2, 80);
		buffer_close(&out);
	}
}

/* Escapes only where they are wanted. */
static void test_color(void **state)
{
	struct dump_span span = span_of(NULL, 0);

	expect_span(80, true, &span,
		    "\n 1. \033[1mtransfer\033[0m"
		    "                                                              "
		    "\033[1m12.3 s\033[0m\n"
		    "    trace 4b0000000000000000000000000000f1  span df0000000000007a\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_head),	   cmocka_unit_test(test_widths),
		cmocka_unit_test(test_goroutines), cmocka_unit_test(test_candidates),
		cmocka_unit_test(test_ages),	   cmocka_unit_test(test_color),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
