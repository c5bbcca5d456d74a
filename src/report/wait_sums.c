/* SPDX-License-Identifier: Apache-2.0 */
/* Waits are rows by span; names group them anew. See wait_sums.h. */
#include "report/wait_sums.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "spans/spans.h"

/* A place of waiting: to be sorted by state and function. */
struct place {
	uint32_t state;
	struct stack_frame at;
	uint64_t ns;
};

/* One row with what it is grouped by. */
struct entry {
	uint32_t row, span, name, service;
};

static const struct profile_wait *wait_of(const struct report_view *v, uint32_t row)
{
	return &v->profile.waits[row];
}

static struct place place_of(const struct report_view *v, const struct profile_wait *wait)
{
	struct stack_frame leaf = {0};

	stack_frames(v, wait->stack, &leaf, 1);
	return (struct place){
		.state = leaf.kind == FRAME_STATE ? leaf.function : 0,
		.at = stack_blame_own(v, wait->stack),
		.ns = wait->ns,
	};
}

static int by_place(const void *left, const void *right)
{
	const struct place *a = left, *b = right;

	if (a->state != b->state)
		return a->state < b->state ? -1 : 1;
	return a->at.function < b->at.function ? -1 : a->at.function > b->at.function;
}

static void find_top(struct place *places, size_t count, struct wait_sum *sum)
{
	uint64_t ns = 0;

	qsort(places, count, sizeof(*places), by_place);
	for (size_t i = 0; i < count; i++) {
		ns = i && !by_place(&places[i - 1], &places[i]) ? ns + places[i].ns : places[i].ns;
		if (ns <= sum->top_ns)
			continue;
		sum->top_ns = ns;
		sum->state = places[i].state;
		sum->at = places[i].at;
	}
}

/* `places` has room for all of them. */
static void add_up(const struct report_view *v, const struct entry *entries, size_t count,
		   struct place *places, struct wait_sum *sum)
{
	*sum = (struct wait_sum){.name = entries[0].name, .service = entries[0].service};
	for (size_t i = 0; i < count; i++) {
		const struct profile_wait *wait = wait_of(v, entries[i].row);

		sum->spans += !i || entries[i].span != entries[i - 1].span;
		sum->all_ns += wait->ns;
		sum->ns[wait->kind] += wait->ns;
		places[i] = place_of(v, wait);
	}
	find_top(places, count, sum);
}

static struct entry *list_entries(const struct report_view *v, const uint32_t *rows, size_t count)
{
	struct entry *entries = calloc(count + 1, sizeof(*entries));

	for (size_t i = 0; entries && i < count; i++) {
		const struct profile_wait *wait = wait_of(v, rows[i]);
		const struct span *span = spans_get(v->spans, wait->span);

		entries[i] = (struct entry){
			.row = rows[i],
			.span = wait->span,
			.name = span ? span->name : 0,
			.service = v->services[wait->resource],
		};
	}
	return entries;
}

int wait_sums_of_span(const struct report_view *v, uint32_t span, struct wait_sum *out)
{
	struct entry *entries;
	struct place *places;
	size_t first = 0, end;
	int err = -ENOMEM;

	*out = (struct wait_sum){0};
	while (first < v->wait_count && wait_of(v, v->waits[first])->span < span)
		first++;
	for (end = first; end < v->wait_count && wait_of(v, v->waits[end])->span == span;)
		end++;
	if (end == first)
		return 0;
	entries = list_entries(v, v->waits + first, end - first);
	places = calloc(end - first, sizeof(*places));
	if (entries && places) {
		add_up(v, entries, end - first, places, out);
		err = 0;
	}
	free(places);
	free(entries);
	return err;
}

/* By service and name; within them by span. */
static int by_name(const void *left, const void *right)
{
	const struct entry *a = left, *b = right;

	if (a->service != b->service)
		return a->service < b->service ? -1 : 1;
	if (a->name != b->name)
		return a->name < b->name ? -1 : 1;
	return a->span < b->span ? -1 : a->span > b->span;
}

static int longest_first(const void *left, const void *right)
{
	const struct wait_sum *a = left, *b = right;

	if (a->all_ns != b->all_ns)
		return a->all_ns > b->all_ns ? -1 : 1;
	return a->name < b->name ? -1 : a->name > b->name;
}

int wait_sums_find(const struct report_view *v, struct wait_sum **out, size_t *count)
{
	struct entry *entries = list_entries(v, v->waits, v->wait_count);
	struct place *places = calloc(v->wait_count + 1, sizeof(*places));
	struct wait_sum *sums = calloc(v->wait_count + 1, sizeof(*sums));
	size_t end;

	*out = NULL;
	*count = 0;
	if (!entries || !places || !sums) {
		free(sums);
		free(places);
		free(entries);
		return -ENOMEM;
	}
	qsort(entries, v->wait_count, sizeof(*entries), by_name);
	for (size_t first = 0; first < v->wait_count; first = end) {
		for (end = first; end < v->wait_count && entries[end].name == entries[first].name &&
				  entries[end].service == entries[first].service;)
			end++;
		add_up(v, entries + first, end - first, places, &sums[(*count)++]);
	}
	qsort(sums, *count, sizeof(*sums), longest_first);
	*out = sums;
	free(places);
	free(entries);
	return 0;
}
