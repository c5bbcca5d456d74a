/* SPDX-License-Identifier: Apache-2.0 */
/* Makes foreign text fit for a terminal, a log and the wire. */
#include "base/string_table.h"

#include <stdbool.h>
#include <string.h>

#include "base/string_clean.h"

static const char replacement[3] = {'\xef', '\xbf', '\xbd'}; /* U+FFFD */

/* Characters that move the cursor, change colours or reorder what a person reads. */
static bool is_control(uint32_t c)
{
	return c < 0x20 || (c >= 0x7f && c <= 0x9f) || c == 0x061c || c == 0x200e || c == 0x200f ||
	       (c >= 0x2028 && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069);
}

/*
 * One character from 1..size bytes: its length, and whether it may stay. An invalid sequence
 * counts as its longest valid beginning (Unicode 3.9, "maximal subparts").
 */
static size_t next_character(const uint8_t *s, size_t size, bool *good)
{
	uint8_t low = 0x80, high = 0xbf;
	size_t length;
	uint32_t c;

	*good = false;
	if (s[0] < 0x80) {
		*good = !is_control(s[0]);
		return 1;
	}
	if (s[0] < 0xc2 || s[0] > 0xf4) /* c0, c1: overlong; f5 and up: over U+10FFFF */
		return 1;
	length = s[0] < 0xe0 ? 2 : s[0] < 0xf0 ? 3 : 4;
	c = s[0] & (0xff >> (length + 1));
	if (s[0] == 0xe0)
		low = 0xa0; /* overlong below */
	else if (s[0] == 0xed)
		high = 0x9f; /* surrogates above */
	else if (s[0] == 0xf0)
		low = 0x90;
	else if (s[0] == 0xf4)
		high = 0x8f;
	for (size_t i = 1; i < length; i++) {
		if (i >= size || s[i] < low || s[i] > high)
			return i;
		c = c << 6 | (s[i] & 0x3f);
		low = 0x80;
		high = 0xbf;
	}
	*good = !is_control(c);
	return length;
}

bool string_is_clean(const char *text, size_t size)
{
	const uint8_t *s = (const uint8_t *)text;
	bool good;

	for (size_t at = 0; at < size;) {
		if (s[at] >= 0x20 && s[at] < 0x7f) {
			at++;
			continue;
		}
		at += next_character(s + at, size - at, &good);
		if (!good)
			return false;
	}
	return true;
}

size_t string_clean(char *to, size_t to_size, const char *text, size_t size)
{
	const uint8_t *s = (const uint8_t *)text;
	size_t written = 0;

	if (!to_size)
		return 0;
	for (size_t at = 0; at < size;) {
		bool good;
		size_t length = next_character(s + at, size - at, &good);
		const char *from = good ? text + at : replacement;
		size_t need = good ? length : sizeof(replacement);

		if (need >= to_size - written)
			break;
		memcpy(to + written, from, need);
		written += need;
		at += length;
	}
	to[written] = '\0';
	return written;
}
