/* SPDX-License-Identifier: Apache-2.0 */
/* Lays out the table by span name: columns that do not fit are left out, least needed first. */
#include "report/name_table.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/string_table.h"
#include "report/name_sums.h"
#include "report/names.h"

#define NAME_MIN    18
#define NAME_MAX    60
#define HOTTEST_MIN 16
#define SERVICE_MAX 16

enum column { SERVICE, SPANS, SAMPLES, CPU, SHARE, MEDIAN, MAX, HOTTEST, COLUMN_COUNT };

static const struct {
	const char *title;
	size_t width;
} columns[COLUMN_COUNT] = {
	[SERVICE] = {"service", 0}, [SPANS] = {"spans", 7},
	[SAMPLES] = {"samples", 8}, [CPU] = {"CPU ms", 9},
	[SHARE] = {"share", 8},	    [MEDIAN] = {"p50 ms", 8},
	[MAX] = {"max ms", 8},	    [HOTTEST] = {"hottest function", 0},
};

struct shape {
	bool shown[COLUMN_COUNT];
	size_t name, service, hottest;
};

static size_t fixed_width(const struct shape *s)
{
	size_t i, width = s->shown[SERVICE] ? s->service + 2 : 0;

	for (i = SPANS; i < HOTTEST; i++)
		width += s->shown[i] ? columns[i].width : 0;
	return width;
}

static const char *hottest_of(const struct report_view *v, const struct stack_frame *frame)
{
	return names_short(stack_frame_name(v, frame));
}

static size_t larger(size_t a, size_t b)
{
	return a > b ? a : b;
}

static size_t smaller(size_t a, size_t b)
{
	return a < b ? a : b;
}

/* What the columns of text would like to have. */
static void measure(const struct report_view *v, const struct name_sum *sums, size_t count,
		    struct shape *s)
{
	size_t i;

	*s = (struct shape){.name = NAME_MIN, .hottest = paint_width(columns[HOTTEST].title)};
	s->service = paint_width(columns[SERVICE].title);
	for (i = 0; i < count; i++) {
		s->name = larger(s->name, paint_width(name_sums_name(v, &sums[i])));
		s->hottest = larger(s->hottest, paint_width(hottest_of(v, &sums[i].hottest)));
		s->service =
			larger(s->service, paint_width(report_view_string(v, sums[i].service)));
	}
	s->name = smaller(s->name, NAME_MAX);
	s->service = smaller(s->service, SERVICE_MAX);
}

/* Leaves columns out until the name and what is left fit, then shares what room there is. */
static void make_shape(const struct report_view *v, const struct name_sum *sums, size_t count,
		       size_t width, bool live, struct shape *s)
{
	static const enum column drop[] = {SHARE, SAMPLES, MEDIAN, SERVICE, MAX, HOTTEST};
	static const enum column drop_live[] = {SERVICE, SHARE, SAMPLES, HOTTEST, MEDIAN, MAX};
	const enum column *next = live ? drop_live : drop;
	size_t i, need, room;

	measure(v, sums, count, s);
	for (i = 0; i < COLUMN_COUNT; i++)
		s->shown[i] = !live || (i != MEDIAN && i != MAX);
	s->shown[SERVICE] = name_sums_have_services(sums, count);
	for (i = 0; i < sizeof(drop) / sizeof(drop[0]); i++) {
		need = fixed_width(s) + NAME_MIN + (s->shown[HOTTEST] ? 2 + HOTTEST_MIN : 0);
		if (need <= width)
			break;
		s->shown[next[i]] = false;
	}
	room = width > fixed_width(s) ? width - fixed_width(s) : 1;
	if (!s->shown[HOTTEST]) {
		s->name = smaller(s->name, room);
		return;
	}
	room -= 2;
	if (s->name + s->hottest > room)
		s->name = smaller(s->name, larger(NAME_MIN, room - smaller(s->hottest, room / 2)));
	s->hottest = room - s->name;
}

static void paint_titles(const struct paint *p, const struct shape *s)
{
	size_t i;

	paint_cell(p, PAINT_DIM, "span name", s->name, true);
	if (s->shown[SERVICE]) {
		paint_spaces(p, 2);
		paint_cell(p, PAINT_DIM, columns[SERVICE].title, s->service, true);
	}
	for (i = SPANS; i < HOTTEST; i++) {
		if (s->shown[i])
			paint_right(p, PAINT_DIM, columns[i].title, columns[i].width);
	}
	if (s->shown[HOTTEST]) {
		paint_spaces(p, 2);
		paint_cell(p, PAINT_DIM, columns[HOTTEST].title, s->hottest, false);
	}
	paint_end_line(p);
}

static const char *number_of(const struct report_view *v, const struct name_sum *sum,
			     enum column column, char to[PAINT_NUMBER_MAX])
{
	switch (column) {
	case SPANS:
		return sum->on_cpu ? paint_number(sum->on_cpu, to) : "";
	case SAMPLES:
		return paint_number(sum->samples, to);
	case CPU:
		return paint_ms(report_view_ns(v, sum->samples), to);
	case SHARE:
		return paint_share(sum->samples, v->chosen_samples, to);
	case MEDIAN:
		return paint_ms(report_view_ns(v, sum->median), to);
	case MAX:
		return paint_ms(report_view_ns(v, sum->max), to);
	default:
		return "";
	}
}

static void paint_row(const struct paint *p, const struct report_view *v, const struct shape *s,
		      const char *name, const struct name_sum *sum)
{
	char number[PAINT_NUMBER_MAX];
	size_t i;

	paint_cell(p, sum->on_cpu ? PAINT_BOLD : PAINT_PLAIN, name, s->name, true);
	if (s->shown[SERVICE]) {
		paint_spaces(p, 2);
		paint_cell(p, PAINT_PLAIN, report_view_string(v, sum->service), s->service, true);
	}
	for (i = SPANS; i < HOTTEST; i++) {
		if (s->shown[i])
			paint_right(p, PAINT_PLAIN, number_of(v, sum, (enum column)i, number),
				    columns[i].width);
	}
	if (s->shown[HOTTEST]) {
		paint_spaces(p, 2);
		paint_tail_cell(p, PAINT_PLAIN, hottest_of(v, &sum->hottest), s->hottest, false);
	}
	paint_end_line(p);
}

static void paint_other_names(const struct paint *p, const struct report_view *v,
			      const struct name_sum *sums, size_t count)
{
	char ms[PAINT_NUMBER_MAX], sum[PAINT_NUMBER_MAX + sizeof(" ms CPU")];
	uint64_t samples = 0;

	for (size_t i = 0; i < count; i++)
		samples += sums[i].samples;
	snprintf(sum, sizeof(sum), "%s ms CPU", paint_ms(report_view_ns(v, samples), ms));
	paint_rest(p, count, "name", sum);
}

/* The row of the live view for what no span accounts for. */
static int paint_outside(const struct paint *p, const struct report_view *v, const struct shape *s)
{
	struct name_sum sum = {.samples = v->outside_samples};
	int err = name_sums_hottest(v, v->chosen, v->outside_rows, &sum.hottest);

	if (!err)
		paint_row(p, v, s, "(outside any span)", &sum);
	return err;
}

int name_table_paint(const struct paint *p, const struct report_view *v,
		     const struct name_table_options *options)
{
	bool outside = options->live && v->outside_samples && options->lines_max > 1;
	struct name_sum *sums = NULL;
	size_t i, count, room, shown;
	struct shape shape;
	int err;

	err = name_sums_find(v, NAMES_BY_CPU, &sums, &count);
	if (err)
		return err;
	room = options->lines_max > 1u + outside ? options->lines_max - 1 - outside : 0;
	shown = count <= room ? count : room ? room - 1 : 0;
	make_shape(v, sums, count, p->columns, options->live, &shape);
	paint_titles(p, &shape);
	for (i = 0; i < shown; i++)
		paint_row(p, v, &shape, name_sums_name(v, &sums[i]), &sums[i]);
	if (shown < count && room)
		paint_other_names(p, v, sums + shown, count - shown);
	if (outside)
		err = paint_outside(p, v, &shape);
	free(sums);
	return err;
}
