/* SPDX-License-Identifier: Apache-2.0 */
/* Columns per character: 0 for combining marks, 2 for East Asian wide and emoji, else 1. */
#include "report/width.h"

#include <stdint.h>

struct range {
	uint32_t first, last;
};

/* Blocks of marks that stand on the character before them (Unicode general category Mn, Me). */
static const struct range combining[] = {
	{0x0300, 0x036f}, {0x0483, 0x0489}, {0x0591, 0x05bd},	{0x0610, 0x061a}, {0x064b, 0x065f},
	{0x0900, 0x0902}, {0x093c, 0x093c}, {0x0941, 0x0948},	{0x094d, 0x094d}, {0x0e31, 0x0e31},
	{0x0e34, 0x0e3a}, {0x0e47, 0x0e4e}, {0x1ab0, 0x1aff},	{0x1dc0, 0x1dff}, {0x200b, 0x200d},
	{0x2060, 0x2064}, {0x20d0, 0x20ff}, {0x302a, 0x302d},	{0x3099, 0x309a}, {0xfe00, 0xfe0f},
	{0xfe20, 0xfe2f}, {0xfeff, 0xfeff}, {0xe0100, 0xe01ef},
};

/* Blocks of wide and full-width characters (Unicode East Asian Width W, F). */
static const struct range wide[] = {
	{0x1100, 0x115f},   {0x231a, 0x231b},	{0x2329, 0x232a},   {0x23e9, 0x23ec},
	{0x25fd, 0x25fe},   {0x2614, 0x2615},	{0x2648, 0x2653},   {0x26a1, 0x26a1},
	{0x26bd, 0x26be},   {0x26d4, 0x26d4},	{0x2705, 0x2705},   {0x270a, 0x270b},
	{0x2728, 0x2728},   {0x274c, 0x274c},	{0x2753, 0x2755},   {0x2757, 0x2757},
	{0x2795, 0x2797},   {0x2b1b, 0x2b1c},	{0x2b50, 0x2b50},   {0x2e80, 0x303e},
	{0x3041, 0x33ff},   {0x3400, 0x4dbf},	{0x4e00, 0x9fff},   {0xa000, 0xa4cf},
	{0xa960, 0xa97f},   {0xac00, 0xd7a3},	{0xf900, 0xfaff},   {0xfe30, 0xfe6f},
	{0xff00, 0xff60},   {0xffe0, 0xffe6},	{0x16fe0, 0x18aff}, {0x1b000, 0x1b2ff},
	{0x1f004, 0x1f004}, {0x1f0cf, 0x1f0cf}, {0x1f18e, 0x1f19a}, {0x1f200, 0x1f320},
	{0x1f32d, 0x1f64f}, {0x1f680, 0x1f6ff}, {0x1f7e0, 0x1f7eb}, {0x1f90c, 0x1faff},
	{0x20000, 0x3fffd},
};

static int is_in(const struct range *ranges, size_t count, uint32_t c)
{
	size_t low = 0, high = count, middle;

	while (low < high) {
		middle = (low + high) / 2;
		if (c > ranges[middle].last)
			low = middle + 1;
		else if (c < ranges[middle].first)
			high = middle;
		else
			return 1;
	}
	return 0;
}

/* Length of the character at the front; a malformed byte counts as a character. */
static size_t next(const char *text, size_t size, uint32_t *c)
{
	const uint8_t *s = (const uint8_t *)text;
	size_t i, length = s[0] < 0xc0 ? 1 : s[0] < 0xe0 ? 2 : s[0] < 0xf0 ? 3 : 4;

	*c = length == 1 ? s[0] : s[0] & (0xff >> (length + 1));
	if (length > size)
		return 1;
	for (i = 1; i < length; i++) {
		if ((s[i] & 0xc0) != 0x80)
			return 1;
		*c = *c << 6 | (s[i] & 0x3f);
	}
	return length;
}

static size_t columns_of(uint32_t c)
{
	if (c < 0x300)
		return 1;
	if (is_in(combining, sizeof(combining) / sizeof(combining[0]), c))
		return 0;
	return is_in(wide, sizeof(wide) / sizeof(wide[0]), c) ? 2 : 1;
}

size_t width_of(const char *text, size_t size)
{
	size_t used;

	width_prefix(text, size, SIZE_MAX, &used);
	return used;
}

size_t width_prefix(const char *text, size_t size, size_t columns, size_t *used)
{
	size_t at = 0, length, width;
	uint32_t c;

	*used = 0;
	while (at < size) {
		length = next(text + at, size - at, &c);
		width = columns_of(c);
		if (*used + width > columns)
			break;
		*used += width;
		at += length;
	}
	return at;
}

size_t width_suffix(const char *text, size_t size, size_t columns, size_t *used)
{
	size_t at = 0;
	uint32_t c;

	*used = width_of(text, size);
	while (at<size && * used> columns) {
		size_t length = next(text + at, size - at, &c);

		*used -= columns_of(c);
		at += length;
	}
	/* Marks that stood on a character left out go with it. */
	while (at < size) {
		size_t length = next(text + at, size - at, &c);

		if (!at || columns_of(c))
			break;
		at += length;
	}
	return at;
}
