/* SPDX-License-Identifier: Apache-2.0 */
/* Two ordered lists, merged. See roster.h. */
#include "waiting/roster.h"

#include <errno.h>
#include <stdlib.h>

#include "process/goroutines.h"

#define ALL_MAX (1 << 20)

struct roster {
	bool wants_all;
	uint64_t *all; /* NULL: not read yet */
	size_t all_count, next_of_all;
	const struct wanted *told;
	size_t told_count, next_told;
};

int roster_open(bool all, struct roster **out)
{
	*out = calloc(1, sizeof(**out));
	if (!*out)
		return -ENOMEM;
	(*out)->wants_all = all;
	return 0;
}

void roster_close(struct roster *r)
{
	if (!r)
		return;
	free(r->all);
	free(r);
}

static int by_address(const void *left, const void *right)
{
	const uint64_t *a = left, *b = right;

	return *a < *b ? -1 : *a > *b;
}

/* The list only grows: of the same length, it is the same. */
static void read_all(struct roster *r, const struct process *p, const struct gobinary_info *info,
		     uint64_t bias)
{
	uint64_t *list;
	size_t count;

	if (goroutines_count(p, info, bias, ALL_MAX, &count) || (r->all && count == r->all_count) ||
	    goroutines_list(p, info, bias, ALL_MAX, &list, &count))
		return;
	qsort(list, count, sizeof(*list), by_address);
	free(r->all);
	r->all = list;
	r->all_count = count;
}

void roster_begin(struct roster *r, const struct process *p, const struct gobinary_info *info,
		  uint64_t bias, const struct wanted *told, size_t told_count)
{
	if (r->wants_all)
		read_all(r, p, info, bias);
	r->told = told;
	r->told_count = told_count;
	r->next_told = r->next_of_all = 0;
}

size_t roster_count(const struct roster *r)
{
	return r->told_count + r->all_count;
}

bool roster_next(struct roster *r, struct roster_entry *out)
{
	bool has_told = r->next_told < r->told_count, has_one = r->next_of_all < r->all_count;

	if (!has_told && !has_one)
		return false;
	*out = (struct roster_entry){0};
	if (has_told)
		out->g = r->told[r->next_told].g;
	if (has_one && (!has_told || r->all[r->next_of_all] < out->g))
		out->g = r->all[r->next_of_all];
	for (; r->next_of_all < r->all_count && r->all[r->next_of_all] == out->g; r->next_of_all++)
		continue;
	for (; r->next_told < r->told_count && r->told[r->next_told].g == out->g; r->next_told++) {
		const struct wanted *told = &r->told[r->next_told];

		*(told->older ? &out->older : &out->own) = told;
	}
	return true;
}
