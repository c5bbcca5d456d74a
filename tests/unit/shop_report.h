/* SPDX-License-Identifier: Apache-2.0 */
/* Reports of the shop's profile as text, and what is asked of them. */
#ifndef TESTS_SHOP_REPORT_H
#define TESTS_SHOP_REPORT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/bytes.h"
#include "report/report.h"
#include "report/width.h"
#include "shop_profile.h"

static struct shop shop;
static char *text;

static inline int open_shop(void **state)
{
	shop_open(&shop);
	shop_fill(&shop);
	return 0;
}

static inline int open_empty(void **state)
{
	shop_open(&shop);
	return 0;
}

static inline int close_shop(void **state)
{
	shop_close(&shop);
	free(text);
	text = NULL;
	return 0;
}

static inline void render(const struct report_options *options, size_t live_rows)
{
	struct buffer out;

	buffer_open(&out, 1 << 20);
	if (live_rows)
		assert_int_equal(report_live(shop.profile, options, live_rows, &out), 0);
	else
		assert_int_equal(report_terminal(shop.profile, options, &out), 0);
	free(text);
	text = strndup((const char *)out.data, out.size);
	assert_int_equal(strlen(text), out.size);
	buffer_close(&out);
}

#define REPORT(...)	render(&(struct report_options){__VA_ARGS__}, 0)
#define LIVE(rows, ...) render(&(struct report_options){__VA_ARGS__}, rows)

static inline void assert_has(const char *part)
{
	if (!strstr(text, part))
		fail_msg("missing: %s\nin:\n%s", part, text);
}

static inline void assert_lacks(const char *part)
{
	if (strstr(text, part))
		fail_msg("unexpected: %s\nin:\n%s", part, text);
}

static inline size_t count_of(const char *part)
{
	size_t count = 0;
	const char *at = text;

	for (; (at = strstr(at, part)); at += strlen(part))
		count++;
	return count;
}

static inline size_t count_lines(void)
{
	return count_of("\n");
}

static inline void assert_narrower(size_t columns)
{
	const char *at = text, *end;

	for (; (end = strchr(at, '\n')); at = end + 1) {
		if (width_of(at, (size_t)(end - at)) > columns)
			fail_msg("wider than %zu: %.*s", columns, (int)(end - at), at);
		if (end > at && end[-1] == ' ')
			fail_msg("space at the end: %.*s", (int)(end - at), at);
	}
	assert_string_equal(at, "");
}

#endif
