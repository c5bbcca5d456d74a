/* SPDX-License-Identifier: Apache-2.0 */
/* Arrays that grow. */
#ifndef BASE_RESERVE_H
#define BASE_RESERVE_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Makes room for `more` items behind the `count` of an array, whose `*capacity` doubles; the caller
 * frees `*items`. False: they would be more than `max`, or out of memory; nothing has changed then.
 */
bool reserve(void **items, size_t *capacity, size_t count, size_t more, size_t max, size_t size);

#endif
