/* SPDX-License-Identifier: Apache-2.0 */
/* Where the reason has too little room beside the numbers it has a line of its own. */
#include "report/time_table.h"

#include <stdio.h>
#include <stdlib.h>

#include "report/name_sums.h"

#define NAME_TITLE     "span name"
#define NAME_MIN       18
#define NAME_MAX       60
#define REASON_MIN     28
#define REASON_MAX     512
#define NAME_BYTES_MAX 512
#define INDENT	       4

enum column { SPANS, CPU, RUNNABLE, WAITING, NO_CPU, COLUMN_COUNT };
static const struct {
	const char *title;
	size_t width;
} columns[COLUMN_COUNT] = {
	[SPANS] = {"spans", 7},	     [CPU] = {"CPU ms", 9},	    [RUNNABLE] = {"runnable", 10},
	[WAITING] = {"waiting", 10}, [NO_CPU] = {"not on CPU", 12},
};

static const char *number_of(const struct report_view *v, const struct name_sum *sum,
			     enum column column, char to[PAINT_NUMBER_MAX])
{
	const uint64_t *ns = sum->wait_ns;

	if (column > CPU && !sum->looked_at)
		return "";
	switch (column) {
	case SPANS:
		return paint_number(sum->spans, to);
	case CPU:
		return paint_ms(report_view_ns(v, sum->samples), to);
	case RUNNABLE:
		return paint_ms(ns[PROFILE_WAIT_RUNNABLE], to);
	case WAITING:
		return paint_ms(ns[PROFILE_WAIT_PARKED] + ns[PROFILE_WAIT_SYSCALL], to);
	case NO_CPU:
		return paint_ms(ns[PROFILE_WAIT_NO_CPU] + ns[PROFILE_WAIT_THROTTLED], to);
	case COLUMN_COUNT:
		break;
	}
	return "";
}

/* With its service where there are several. */
static const char *make_name(const struct report_view *v, const struct name_sum *sum, bool services,
			     char to[NAME_BYTES_MAX])
{
	const char *service = report_view_string(v, sum->service);

	snprintf(to, NAME_BYTES_MAX, services && *service ? "%s \xc2\xb7 %s" : "%s",
		 name_sums_name(v, sum), service);
	return to;
}

struct shape {
	bool shown[COLUMN_COUNT];
	size_t width[COLUMN_COUNT];
	bool services; /* beside the names */
	size_t name, reason;
	bool reason_below; /* on a line of its own */
};

/* As wide as their numbers are, at least. */
static void measure_columns(const struct report_view *v, const struct name_sum *sums, size_t count,
			    struct shape *s)
{
	char number[PAINT_NUMBER_MAX];

	for (size_t c = 0; c < COLUMN_COUNT; c++) {
		s->width[c] = columns[c].width;
		for (size_t i = 0; i < count; i++) {
			size_t width =
				2 + paint_width(number_of(v, &sums[i], (enum column)c, number));

			s->width[c] = width > s->width[c] ? width : s->width[c];
		}
	}
}

/* Leaves numbers out until a short name fits beside them. */
static size_t choose_columns(size_t width, struct shape *s)
{
	static const enum column drop[] = {SPANS, NO_CPU, RUNNABLE};
	size_t used = 0;

	for (size_t i = 0; i < COLUMN_COUNT; i++) {
		s->shown[i] = true;
		used += s->width[i];
	}
	for (size_t i = 0; i < sizeof(drop) / sizeof(drop[0]) && used + NAME_MIN > width; i++) {
		s->shown[drop[i]] = false;
		used -= s->width[drop[i]];
	}
	return used;
}

static size_t smaller(size_t a, size_t b)
{
	return a < b ? a : b;
}

static size_t longest_name(const struct report_view *v, const struct name_sum *sums, size_t count,
			   bool services)
{
	char name[NAME_BYTES_MAX];
	size_t longest = paint_width(NAME_TITLE);

	for (size_t i = 0; i < count; i++) {
		size_t width = paint_width(make_name(v, &sums[i], services, name));

		longest = width > longest ? width : longest;
	}
	return smaller(longest, NAME_MAX);
}

static struct shape make_shape(const struct report_view *v, const struct name_sum *sums,
			       size_t count, size_t width)
{
	struct shape s = {.services = name_sums_have_services(sums, count)};
	size_t longest = longest_name(v, sums, count, s.services);
	size_t least = smaller(longest, NAME_MIN), used, room;

	measure_columns(v, sums, count, &s);
	used = choose_columns(width, &s);
	room = width > used ? width - used : 1;
	s.reason_below = room < least + 2 + REASON_MIN;
	if (s.reason_below) {
		s.name = smaller(longest, room);
		s.reason = width - INDENT;
	} else {
		/* A third of what both could have more goes to long names. */
		room -= 2;
		s.name = smaller(longest, least + (room - least - REASON_MIN) / 3);
		s.reason = room - s.name;
	}
	return s;
}

static void paint_titles(const struct paint *p, const struct shape *s)
{
	paint_cell(p, PAINT_DIM, NAME_TITLE, s->name, true);
	for (size_t i = 0; i < COLUMN_COUNT; i++)
		if (s->shown[i])
			paint_right(p, PAINT_DIM, columns[i].title, s->width[i]);
	if (!s->reason_below) {
		paint_spaces(p, 2);
		paint_cell(p, PAINT_DIM, "top reason", s->reason, false);
	}
	paint_end_line(p);
}

static void paint_reason(const struct paint *p, const struct report_view *v, const struct shape *s,
			 const struct wait_place *most)
{
	char reason[REASON_MAX];

	if (!most->ns)
		return;
	if (s->reason_below) {
		paint_end_line(p);
		paint_spaces(p, INDENT);
	} else {
		paint_spaces(p, 2);
	}
	wait_places_text(v, most, s->reason, reason, sizeof(reason));
	paint_cell(p, PAINT_PLAIN, reason, s->reason, false);
}

static void paint_row(const struct paint *p, const struct report_view *v, const struct shape *s,
		      const struct name_sum *sum)
{
	char number[PAINT_NUMBER_MAX], name[NAME_BYTES_MAX];

	paint_cell(p, PAINT_BOLD, make_name(v, sum, s->services, name), s->name, true);
	for (size_t i = 0; i < COLUMN_COUNT; i++)
		if (s->shown[i])
			paint_right(p, PAINT_PLAIN, number_of(v, sum, (enum column)i, number),
				    s->width[i]);
	paint_reason(p, v, s, &sum->waits_most);
	paint_end_line(p);
}

static void paint_other_names(const struct paint *p, const struct name_sum *sums, size_t count)
{
	char ms[PAINT_NUMBER_MAX], sum[PAINT_NUMBER_MAX + sizeof(" ms")];
	uint64_t ns = 0;

	for (size_t i = 0; i < count; i++)
		ns += sums[i].seen_ns;
	snprintf(sum, sizeof(sum), "%s ms", paint_ms(ns, ms));
	paint_rest(p, count, "name", sum);
}

int time_table_paint(const struct paint *p, const struct report_view *v, size_t names_max)
{
	struct name_sum *sums;
	size_t count, shown;
	struct shape s;
	int err = name_sums_find(v, NAMES_BY_TIME, &sums, &count);

	if (err)
		return err;
	shown = count < names_max ? count : names_max;
	s = make_shape(v, sums, shown, p->columns);
	paint_titles(p, &s);
	for (size_t i = 0; i < shown; i++)
		paint_row(p, v, &s, &sums[i]);
	if (shown < count)
		paint_other_names(p, sums + shown, count - shown);
	free(sums);
	return 0;
}
