/* SPDX-License-Identifier: Apache-2.0 */
/* Groups the spans of a report by service and name. */
#include "report/name_sums.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* A sample's blame: to be sorted by function. */
struct blame {
	struct stack_frame frame;
	uint64_t samples;
};

static int compare_functions(const struct stack_frame *a, const struct stack_frame *b)
{
	if (a->function != b->function)
		return a->function < b->function ? -1 : 1;
	return a->mapping < b->mapping ? -1 : a->mapping > b->mapping;
}

static int by_function(const void *left, const void *right)
{
	const struct blame *a = left, *b = right;

	return compare_functions(&a->frame, &b->frame);
}

/* The function with the most samples; sorts `blames`. */
static struct stack_frame most_blamed(struct blame *blames, size_t count)
{
	struct stack_frame best = {0};
	uint64_t samples = 0, best_samples = 0;
	size_t i;

	qsort(blames, count, sizeof(*blames), by_function);
	for (i = 0; i < count; i++) {
		if (!i || compare_functions(&blames[i].frame, &blames[i - 1].frame))
			samples = 0;
		samples += blames[i].samples;
		if (samples > best_samples) {
			best_samples = samples;
			best = blames[i].frame;
		}
	}
	return best;
}

static size_t add_blames(const struct report_view *v, const uint32_t *rows, size_t row_count,
			 struct blame *to)
{
	size_t i;

	for (i = 0; i < row_count; i++) {
		to[i].frame = hot_lines_blame(v, rows[i]);
		to[i].samples = v->profile.samples[rows[i]].count;
	}
	return row_count;
}

int name_sums_hottest(const struct report_view *v, const uint32_t *rows, size_t row_count,
		      struct stack_frame *out)
{
	struct blame *blames = calloc(row_count + 1, sizeof(*blames));

	if (!blames)
		return -ENOMEM;
	*out = most_blamed(blames, add_blames(v, rows, row_count, blames));
	free(blames);
	return 0;
}

/* By service and name; within them fewest samples first, for the median. */
static int by_name(const void *left, const void *right)
{
	const struct span_sum *a = left, *b = right;

	if (a->service != b->service)
		return a->service < b->service ? -1 : 1;
	if (a->name != b->name)
		return a->name < b->name ? -1 : 1;
	if (a->samples != b->samples)
		return a->samples < b->samples ? -1 : 1;
	return a->span < b->span ? -1 : a->span > b->span;
}

static int by_cpu(const void *left, const void *right)
{
	const struct name_sum *a = left, *b = right;

	if (a->samples != b->samples)
		return a->samples > b->samples ? -1 : 1;
	return a->name < b->name ? -1 : a->name > b->name;
}

static int by_time(const void *left, const void *right)
{
	const struct name_sum *a = left, *b = right;

	if (a->seen_ns != b->seen_ns)
		return a->seen_ns > b->seen_ns ? -1 : 1;
	return by_cpu(left, right);
}

/* What the names are added up from, and room for what all spans of one are blamed on. */
struct adding {
	const struct report_view *view;
	struct span_sum *spans; /* by name */
	struct blame *blames;
	struct wait_place *places;
};

static void add_span(const struct report_view *v, struct name_sum *sum, const struct span_sum *span)
{
	sum->looked_at |= v->looked_at[span->resource];
	sum->spans++;
	sum->on_cpu += span->samples > 0;
	sum->samples += span->samples;
	sum->max = span->samples;
	sum->seen_ns += span->seen_ns;
	for (int kind = 0; kind < PROFILE_WAIT_KINDS; kind++)
		sum->wait_ns[kind] += span->wait_ns[kind];
}

/* All spans that are called like spans[first]; where the next name begins. */
static size_t add_name(const struct adding *a, size_t first, struct name_sum *sum)
{
	const struct report_view *v = a->view;
	size_t i = first, blamed = 0, placed = 0;

	*sum = (struct name_sum){.name = a->spans[i].name, .service = a->spans[i].service};
	for (; i < v->sum_count && a->spans[i].name == sum->name &&
	       a->spans[i].service == sum->service;
	     i++) {
		const struct span_sum *span = &a->spans[i];

		add_span(v, sum, span);
		blamed += add_blames(v, &v->chosen[span->first], span->rows, a->blames + blamed);
		for (size_t k = 0; k < span->wait_rows; k++)
			a->places[placed++] = wait_places_get(v, v->waits[span->first_wait + k]);
	}
	/* Those without samples come first. */
	if (sum->on_cpu)
		sum->median = a->spans[i - sum->on_cpu + (sum->on_cpu - 1) / 2].samples;
	sum->hottest = most_blamed(a->blames, blamed);
	sum->waits_most = wait_places_largest(a->places, placed);
	return i;
}

static size_t add_up(const struct adding *a, enum name_order order, struct name_sum *sums)
{
	size_t count = 0;

	for (size_t i = 0; i < a->view->sum_count;) {
		i = add_name(a, i, &sums[count]);
		count += order == NAMES_BY_TIME || sums[count].samples;
	}
	qsort(sums, count, sizeof(*sums), order == NAMES_BY_TIME ? by_time : by_cpu);
	return count;
}

int name_sums_find(const struct report_view *v, enum name_order order, struct name_sum **out,
		   size_t *count)
{
	struct adding a = {
		.view = v,
		.spans = calloc(v->sum_count + 1, sizeof(*a.spans)),
		.blames = calloc(v->chosen_count + 1, sizeof(*a.blames)),
		.places = calloc(v->wait_count + 1, sizeof(*a.places)),
	};
	struct name_sum *sums = calloc(v->sum_count + 1, sizeof(*sums));
	int err = -ENOMEM;

	*out = NULL;
	*count = 0;
	if (!a.spans || !a.blames || !a.places || !sums)
		goto out;
	err = 0;
	memcpy(a.spans, v->sums, v->sum_count * sizeof(*a.spans));
	qsort(a.spans, v->sum_count, sizeof(*a.spans), by_name);
	*count = add_up(&a, order, sums);
	*out = sums;
	sums = NULL;
out:
	free(sums);
	free(a.places);
	free(a.blames);
	free(a.spans);
	return err;
}

const char *name_sums_name(const struct report_view *v, const struct name_sum *sum)
{
	const char *name = report_view_string(v, sum->name);

	return *name ? name : "(no name)";
}

bool name_sums_have_services(const struct name_sum *sums, size_t count)
{
	for (size_t i = 1; i < count; i++)
		if (sums[i].service != sums[0].service)
			return true;
	return false;
}
