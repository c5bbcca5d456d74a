/* SPDX-License-Identifier: Apache-2.0 */
/* See reserve.h. */
#include "base/reserve.h"

#include <stdlib.h>

#define ITEMS_MIN 64

bool reserve(void **items, size_t *capacity, size_t count, size_t more, size_t max, size_t size)
{
	size_t wanted = *capacity ? *capacity : ITEMS_MIN;
	void *grown;

	if (more > max - count)
		return false;
	if (count + more <= *capacity)
		return true;
	while (wanted < count + more)
		wanted *= 2;
	grown = reallocarray(*items, wanted, size);
	if (!grown)
		return false;
	*items = grown;
	*capacity = wanted;
	return true;
}
