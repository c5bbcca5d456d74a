/* SPDX-License-Identifier: Apache-2.0 */
/* The report's pieces: display width, fitting, numbers, names of Go functions. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/bytes.h"
#include "report/names.h"
#include "report/paint.h"
#include "report/width.h"

#define JAPANESE "\xe6\x97\xa5\xe6\x9c\xac\xe8\xaa\x9e" /* 3 characters, 2 columns each */
#define E_ACUTE	 "e\xcc\x81"				/* e and a combining accent */
#define ELLIPSIS "\xe2\x80\xa6"

static struct buffer out;
static struct paint paint;

static int open_paint(void **state)
{
	buffer_open(&out, 4096);
	paint = (struct paint){&out, false, 20};
	return 0;
}

static int close_paint(void **state)
{
	buffer_close(&out);
	return 0;
}

static void expect(const char *text)
{
	buffer_add(&out, "", 1);
	assert_false(out.failed);
	assert_string_equal((const char *)out.data, text);
	out.size = 0;
}

static void widths(void **state)
{
	size_t used;

	assert_int_equal(paint_width(""), 0);
	assert_int_equal(paint_width("abc"), 3);
	assert_int_equal(paint_width(JAPANESE), 6);
	assert_int_equal(paint_width(E_ACUTE "x"), 2);
	assert_int_equal(paint_width("\xf0\x9f\x94\xa5"), 2); /* fire */
	assert_int_equal(paint_width("\xef\xbf\xbd"), 1);     /* U+FFFD */
	/* Never half of a wide character, never a mark without its letter. */
	assert_int_equal(width_prefix(JAPANESE, 9, 5, &used), 6);
	assert_int_equal(used, 4);
	assert_int_equal(width_prefix(E_ACUTE "x", 4, 1, &used), 3);
	assert_int_equal(width_suffix(JAPANESE, 9, 5, &used), 3);
	assert_int_equal(used, 4);
	assert_int_equal(width_suffix(E_ACUTE "x", 4, 1, &used), 3);
	assert_int_equal(used, 1);
	/* Bytes that are no UTF-8 do not run past the end. */
	assert_int_equal(width_of("\xf0\x9f", 2), 2);
}

static void cells(void **state)
{
	paint_cell(&paint, PAINT_PLAIN, "abc", 5, true);
	expect("abc  ");
	paint_cell(&paint, PAINT_BOLD, "abcdef", 5, true);
	expect("abcd" ELLIPSIS);
	paint_cell(&paint, PAINT_PLAIN, JAPANESE, 4, true);
	expect("\xe6\x97\xa5" ELLIPSIS " ");
	paint_tail_cell(&paint, PAINT_PLAIN, "a/b/c.go", 5, true);
	expect(ELLIPSIS "c.go");
	paint_tail_cell(&paint, PAINT_PLAIN, JAPANESE, 6, false);
	expect(JAPANESE);
	paint_right(&paint, PAINT_PLAIN, "12", 4);
	expect("  12");
	paint_text(&paint, PAINT_PLAIN, "a  ");
	paint_end_line(&paint);
	expect("a\n");
	paint.color = true;
	paint_cell(&paint, PAINT_BOLD, "ab", 4, true);
	expect("\033[1mab\033[0m  ");
}

static void wrapping(void **state)
{
	paint_wrapped(&paint, PAINT_PLAIN, "one two three four five six", 2);
	expect("  one two three four\n  five six\n");
	/* A dot stays with the word before it. */
	paint_wrapped(&paint, PAINT_PLAIN, "12345678 1234567 \xc2\xb7 next", 0);
	expect("12345678 1234567 \xc2\xb7\nnext\n");
	paint_wrapped(&paint, PAINT_PLAIN, "a-word-longer-than-the-line-is x", 0);
	expect("a-word-longer-than-the-line-is\nx\n");
}

static void numbers(void **state)
{
	char to[PAINT_NUMBER_MAX];

	assert_string_equal(paint_number(0, to), "0");
	assert_string_equal(paint_number(999, to), "999");
	assert_string_equal(paint_number(1000, to), "1,000");
	assert_string_equal(paint_number(UINT64_MAX, to), "18,446,744,073,709,551,615");
	assert_string_equal(paint_ms(1499999, to), "1");
	assert_string_equal(paint_ms(1500000, to), "2");
	assert_string_equal(paint_share(1, 3, to), "33.3 %");
	assert_string_equal(paint_share(1, 0, to), "0.0 %");
	assert_string_equal(paint_seconds(1250000000, to), "1.2 s");
}

static void function_names(void **state)
{
	assert_string_equal(names_short("main.f"), "main.f");
	assert_string_equal(names_short("a.b/c/db.(*Conn).Query"), "db.(*Conn).Query");
	assert_string_equal(names_short("a/b.Map[x/y.Z]"), "b.Map[x/y.Z]");
	assert_true(names_is_runtime("runtime.mallocgc"));
	assert_true(names_is_runtime("runtime/internal/sys.x"));
	assert_true(names_is_runtime("internal/runtime/syscall.Syscall6"));
	assert_true(names_is_runtime("memeqbody"));
	assert_false(names_is_runtime("runtimes.f"));
	assert_false(names_is_runtime("main.f"));
	assert_true(names_is_own("main.f", "/srv/main.go"));
	assert_true(names_is_own("shop/net/http.f", "/srv/main.go"));
	assert_true(names_is_own("example.com/shop.(*T).M", "/srv/t.go"));
	assert_false(names_is_own("net/http.(*conn).serve", "net/http/server.go"));
	assert_false(names_is_own("slices.SortFunc[...]", "x.go"));
	assert_false(names_is_own("github.com/a/b.F", "/go/pkg/mod/github.com/a/b@v1.2.3/f.go"));
	assert_false(names_is_own("github.com/a/b.F", "github.com/a/b@v1.2.3/f.go"));
	assert_false(names_is_own("github.com/a/b.F", "/srv/vendor/github.com/a/b/f.go"));
	assert_false(names_is_own("do_syscall_64", ""));
	assert_false(names_is_own("", ""));
}

static void file_names(void **state)
{
	assert_string_equal(names_file_tail("/a/b/c.go", 1), "c.go");
	assert_string_equal(names_file_tail("/a/b/c.go", 2), "b/c.go");
	assert_string_equal(names_file_tail("/a/b/c.go", SIZE_MAX), "/a/b/c.go");
	assert_string_equal(names_file_tail("c.go", 2), "c.go");
	assert_string_equal(names_file_tail("", 1), "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(widths),
		cmocka_unit_test_setup_teardown(cells, open_paint, close_paint),
		cmocka_unit_test_setup_teardown(wrapping, open_paint, close_paint),
		cmocka_unit_test(numbers),
		cmocka_unit_test(function_names),
		cmocka_unit_test(file_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
