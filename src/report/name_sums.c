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

static int by_samples(const void *left, const void *right)
{
	const struct name_sum *a = left, *b = right;

	if (a->samples != b->samples)
		return a->samples > b->samples ? -1 : 1;
	return a->name < b->name ? -1 : a->name > b->name;
}

/* `spans` are sorted by name; `blames` has room for all samples. */
static size_t add_up(const struct report_view *v, const struct span_sum *spans,
		     struct blame *blames, struct name_sum *sums)
{
	struct name_sum *sum;
	size_t i, count = 0, used;

	for (i = 0; i < v->sum_count;) {
		sum = &sums[count++];
		*sum = (struct name_sum){
			.name = spans[i].name, .service = spans[i].service, .first = i};
		used = 0;
		for (; i < v->sum_count && spans[i].name == sum->name &&
		       spans[i].service == sum->service;
		     i++) {
			sum->spans++;
			sum->samples += spans[i].samples;
			sum->max = spans[i].samples;
			used += add_blames(v, &v->chosen[spans[i].first], spans[i].rows,
					   blames + used);
		}
		sum->median = spans[sum->first + (sum->spans - 1) / 2].samples;
		sum->hottest = most_blamed(blames, used);
	}
	return count;
}

int name_sums_find(const struct report_view *v, struct name_sum **out, size_t *count)
{
	struct span_sum *spans = calloc(v->sum_count + 1, sizeof(*spans));
	struct blame *blames = calloc(v->chosen_count + 1, sizeof(*blames));
	struct name_sum *sums = calloc(v->sum_count + 1, sizeof(*sums));
	int err = -ENOMEM;

	*out = NULL;
	*count = 0;
	if (!spans || !blames || !sums)
		goto out;
	err = 0;
	memcpy(spans, v->sums, v->sum_count * sizeof(*spans));
	qsort(spans, v->sum_count, sizeof(*spans), by_name);
	*count = add_up(v, spans, blames, sums);
	qsort(sums, *count, sizeof(*sums), by_samples);
	*out = sums;
	sums = NULL;
out:
	free(sums);
	free(blames);
	free(spans);
	return err;
}
