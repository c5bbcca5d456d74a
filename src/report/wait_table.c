/* SPDX-License-Identifier: Apache-2.0 */
/* Columns of numbers; the name and the place share what is left. */
#include "report/wait_table.h"

#include <stdio.h>
#include <stdlib.h>

#include "report/names.h"

#define NAME_MIN  18
#define NAME_MAX  40
#define PLACE_MIN 24
#define PLACE_MAX 256

enum column { SPANS, WAITING, RUNNABLE, NO_CPU, COLUMN_COUNT };
static const struct {
	const char *title;
	size_t width;
} columns[COLUMN_COUNT] = {
	[SPANS] = {"spans", 7},
	[WAITING] = {"waiting ms", 12},
	[RUNNABLE] = {"runnable ms", 12},
	[NO_CPU] = {"no CPU ms", 11},
};

static const char *number_of(const struct wait_sum *sum, enum column column,
			     char to[PAINT_NUMBER_MAX])
{
	switch (column) {
	case SPANS:
		return paint_number(sum->spans, to);
	case WAITING:
		return paint_ms(sum->ns[PROFILE_WAIT_PARKED] + sum->ns[PROFILE_WAIT_SYSCALL], to);
	case RUNNABLE:
		return paint_ms(sum->ns[PROFILE_WAIT_RUNNABLE], to);
	case NO_CPU:
		return paint_ms(sum->ns[PROFILE_WAIT_NO_CPU] + sum->ns[PROFILE_WAIT_THROTTLED], to);
	case COLUMN_COUNT:
		break;
	}
	return "";
}

void wait_table_place(const struct report_view *v, const struct wait_sum *sum, char *to,
		      size_t size)
{
	const char *state = report_view_string(v, v->profile.functions[sum->state].name);

	if (sum->at.function)
		snprintf(to, size, "%s %s", state, names_short(stack_frame_name(v, &sum->at)));
	else
		snprintf(to, size, "%s", state);
}

struct shape {
	size_t shown; /* columns, from the first */
	size_t name, place;
};

static struct shape make_shape(size_t width)
{
	struct shape s = {0};
	size_t used = 0;

	while (s.shown < COLUMN_COUNT &&
	       used + columns[s.shown].width + NAME_MIN + 2 + PLACE_MIN <= width)
		used += columns[s.shown++].width;
	s.name = width > used + 2 + PLACE_MIN ? width - used - 2 - PLACE_MIN : NAME_MIN;
	s.name = s.name < NAME_MAX ? s.name : NAME_MAX;
	s.place = width > used + s.name + 2 ? width - used - s.name - 2 : 1;
	return s;
}

static void paint_row(const struct paint *p, const struct report_view *v, const struct shape *s,
		      const struct wait_sum *sum)
{
	const char *name = report_view_string(v, sum->name);
	char number[PAINT_NUMBER_MAX], place[PLACE_MAX];

	paint_cell(p, PAINT_BOLD, *name ? name : "(no name)", s->name, true);
	for (size_t i = 0; i < s->shown; i++)
		paint_right(p, PAINT_PLAIN, number_of(sum, (enum column)i, number),
			    columns[i].width);
	paint_spaces(p, 2);
	wait_table_place(v, sum, place, sizeof(place));
	paint_cell(p, PAINT_PLAIN, place, s->place, false);
	paint_end_line(p);
}

int wait_table_paint(const struct paint *p, const struct report_view *v, size_t lines_max)
{
	struct shape s = make_shape(p->columns);
	struct wait_sum *sums;
	size_t count;
	int err = wait_sums_find(v, &sums, &count);

	if (err)
		return err;
	paint_cell(p, PAINT_DIM, "span name", s.name, true);
	for (size_t i = 0; i < s.shown; i++)
		paint_right(p, PAINT_DIM, columns[i].title, columns[i].width);
	paint_spaces(p, 2);
	paint_cell(p, PAINT_DIM, "mostly", s.place, false);
	paint_end_line(p);
	for (size_t i = 0; i < count && i < lines_max; i++)
		paint_row(p, v, &s, &sums[i]);
	free(sums);
	return 0;
}
