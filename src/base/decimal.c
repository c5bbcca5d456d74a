/* SPDX-License-Identifier: Apache-2.0 */
/* See decimal.h. */
#include "base/decimal.h"

#define DIGITS_MAX 20 /* of 2^64 − 1 */

void decimal_put(uint64_t value, uint8_t to[8])
{
	for (int i = 7; i >= 0; i--, value >>= 8)
		to[i] = (uint8_t)value;
}

bool decimal_read(const char *text, size_t size, uint8_t to[8])
{
	unsigned __int128 value = 0;

	if (!size || size > DIGITS_MAX)
		return false;
	for (size_t i = 0; i < size; i++) {
		if (text[i] < '0' || text[i] > '9')
			return false;
		value = value * 10 + (unsigned)(text[i] - '0');
	}
	if (value > UINT64_MAX)
		return false;
	decimal_put((uint64_t)value, to);
	return true;
}
