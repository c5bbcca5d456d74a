/* SPDX-License-Identifier: Apache-2.0 */
/* Columns of numbers on the right; the name takes what is left. */
#include "report/elapsed_table.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "spans/span_groups.h"
#include "spans/spans.h"

#define NAME_MIN  18
#define NAME_MAX  60
#define SHARE_P50 0.5
#define SHARE_P95 0.95

enum column { ENDED, ERRORS, P50, P95, MOST, COLUMN_COUNT };

static const struct {
	const char *title;
	size_t width;
} columns[COLUMN_COUNT] = {
	[ENDED] = {"spans", 9}, [ERRORS] = {"errors", 8}, [P50] = {"p50 ms", 10},
	[P95] = {"p95 ms", 10}, [MOST] = {"max ms", 10},
};

bool elapsed_table_has_rows(const struct report_view *v)
{
	return spans_group_count(v->spans) > 0;
}

static int by_time(const void *left, const void *right)
{
	const struct span_group *a = *(const struct span_group *const *)left;
	const struct span_group *b = *(const struct span_group *const *)right;

	if (a->durations.sum_ns != b->durations.sum_ns)
		return a->durations.sum_ns > b->durations.sum_ns ? -1 : 1;
	return a->name < b->name ? -1 : a->name > b->name;
}

static const char *number_of(const struct span_group *g, enum column column,
			     char to[PAINT_NUMBER_MAX])
{
	switch (column) {
	case ENDED:
		return paint_number(g->durations.count, to);
	case ERRORS:
		return g->errors ? paint_number(g->errors, to) : "";
	case P50:
		return paint_ms(durations_quantile(&g->durations, SHARE_P50), to);
	case P95:
		return paint_ms(durations_quantile(&g->durations, SHARE_P95), to);
	case MOST:
		return paint_ms(g->durations.max_ns, to);
	case COLUMN_COUNT:
		break;
	}
	return "";
}

/* Columns that do not fit beside a short name are left out, the last first. */
static size_t count_shown(size_t width, size_t *name)
{
	size_t shown = 0, used = 0;

	while (shown < COLUMN_COUNT && used + columns[shown].width + NAME_MIN <= width)
		used += columns[shown++].width;
	*name = width > used ? width - used : 1;
	if (*name > NAME_MAX)
		*name = NAME_MAX;
	return shown;
}

static void paint_row(const struct paint *p, const struct report_view *v,
		      const struct span_group *g, size_t name_width, size_t shown)
{
	const char *name = report_view_string(v, g->name);
	char number[PAINT_NUMBER_MAX];

	paint_cell(p, PAINT_BOLD, *name ? name : "(no name)", name_width, true);
	for (size_t i = 0; i < shown; i++)
		paint_right(p, PAINT_PLAIN, number_of(g, (enum column)i, number), columns[i].width);
	paint_end_line(p);
}

int elapsed_table_paint(const struct paint *p, const struct report_view *v, size_t lines_max)
{
	size_t count = spans_group_count(v->spans), name, shown = count_shown(p->columns, &name);
	const struct span_group **groups = calloc(count + 1, sizeof(*groups));

	if (!groups)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		groups[i] = spans_get_group(v->spans, (uint32_t)i + 1);
	qsort(groups, count, sizeof(*groups), by_time);
	paint_cell(p, PAINT_DIM, "span name", name, true);
	for (size_t i = 0; i < shown; i++)
		paint_right(p, PAINT_DIM, columns[i].title, columns[i].width);
	paint_end_line(p);
	for (size_t i = 0; i < count && i < lines_max; i++)
		paint_row(p, v, groups[i], name, shown);
	free(groups);
	return 0;
}
