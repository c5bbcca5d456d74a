/* SPDX-License-Identifier: Apache-2.0 */
/* Private to profile: capped tables of fixed-size rows, each distinct row kept once. */
#ifndef PROFILE_TABLE_H
#define PROFILE_TABLE_H

#include <stddef.h>
#include <stdint.h>

#include "base/handle_index.h"

/* Row 0 is the zero value. Rows are compared as bytes: callers zero the padding. */
struct table {
	uint8_t *rows;
	size_t row_size, count, capacity, max;
	struct handle_index index;
};

/* A row that heads a run of items in another table. */
struct table_list {
	const void *head;    /* its `first` still 0 */
	size_t first_offset; /* where the head keeps the run's first index (uint32_t) */
	const void *items;
	size_t item_count; /* the head keeps it too */
};

int table_open(struct table *t, size_t row_size, size_t max);
void table_close(struct table *t);
void table_clear(struct table *t); /* back to row 0 alone */
void *table_row(const struct table *t, uint32_t handle);
/*
 * The handle of the row whose first `key_size` bytes equal those of `row`, added when new.
 * -ENOSPC at the cap, -ENOMEM. A row of zeros is row 0.
 */
int table_intern(struct table *t, const void *row, size_t key_size, uint32_t *handle);
/* The same, but a row of zeros is a row like any other and not row 0. */
int table_intern_row(struct table *t, const void *row, size_t key_size, uint32_t *handle);
/* Like table_intern for a head with its items. */
int table_intern_list(struct table *heads, struct table *items, const struct table_list *list,
		      uint32_t *handle);
/*
 * What was this head with its items is that one, under the same handle. -ENOENT it was not there;
 * -ENOSPC, -ENOMEM: it stays as it was.
 */
int table_replace_list(struct table *heads, struct table *items, const struct table_list *was,
		       const struct table_list *is);
/* The handle of the row that begins with this key, 0 when there is none. */
uint32_t table_find(const struct table *t, const void *key, size_t key_size);

#endif
