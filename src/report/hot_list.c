/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of: milliseconds on the line, milliseconds with callees, function, file:line, call path. */
#include "report/hot_list.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "report/call_path.h"
#include "report/hot_lines.h"
#include "report/names.h"
#include "report/width.h"

#define LINES_MAX      64
#define PLACE_MAX      512
#define WIDE_COLUMNS   140
#define NARROW_COLUMNS 80

/* Where things stand in a row. */
struct shape {
	size_t indent, number, gap; /* before the numbers; each number; behind them */
	size_t name, place;
};

static size_t prefix(const struct shape *s)
{
	return s->indent + 2 * s->number + s->gap;
}

/* "shop/main.go:42"; the whole path where there is room, the file alone where there is none. */
static void make_place(const struct report_view *v, const struct hot_line *line, size_t columns,
		       char to[PLACE_MAX])
{
	static const size_t parts[] = {SIZE_MAX, 2, 1};
	const char *file = stack_frame_file(v, &line->at);
	size_t i = columns >= WIDE_COLUMNS ? 0 : columns >= NARROW_COLUMNS ? 1 : 2;

	to[0] = '\0';
	if (!*file) {
		if (line->at.kind == FRAME_KERNEL)
			snprintf(to, PLACE_MAX, "[kernel]");
		return;
	}
	for (; i < sizeof(parts) / sizeof(parts[0]); i++) {
		if (line->at.line)
			snprintf(to, PLACE_MAX, "%s:%" PRIu32, names_file_tail(file, parts[i]),
				 line->at.line);
		else
			snprintf(to, PLACE_MAX, "%s", names_file_tail(file, parts[i]));
		if (paint_width(to) <= columns * 2 / 5)
			return;
	}
}

static const char *make_name(const struct report_view *v, const struct hot_line *line, size_t room)
{
	const char *name = stack_frame_name(v, &line->at);

	return paint_width(name) <= room ? name : names_short(name);
}

static void make_shape(const struct report_view *v, const struct hot_line *lines, size_t count,
		       size_t columns, struct shape *s)
{
	char place[PLACE_MAX];
	size_t i, width, room;

	*s = (struct shape){.indent = 4, .number = 10, .gap = 2};
	if (columns < NARROW_COLUMNS)
		*s = (struct shape){.indent = 0, .number = 9, .gap = 2};
	room = columns - prefix(s);
	for (i = 0; i < count; i++) {
		make_place(v, &lines[i], columns, place);
		width = paint_width(place);
		if (width > s->place)
			s->place = width;
	}
	if (s->place > room / 2)
		s->place = room / 2;
	for (i = 0; i < count; i++) {
		width = paint_width(make_name(v, &lines[i], room - s->place - 2));
		if (width > s->name)
			s->name = width;
	}
	if (s->name + 2 + s->place > room)
		s->name = room - 2 - s->place;
}

static void paint_titles(const struct paint *p, const struct shape *s)
{
	paint_spaces(p, s->indent);
	paint_right(p, PAINT_DIM, "self ms", s->number);
	paint_right(p, PAINT_DIM, "total ms", s->number);
	paint_spaces(p, s->gap);
	paint_text(p, PAINT_DIM, "hottest lines");
	paint_end_line(p);
}

static void paint_line(const struct paint *p, const struct report_view *v,
		       const struct hot_line *line, const struct shape *s)
{
	char number[PAINT_NUMBER_MAX], share[PAINT_NUMBER_MAX] = "", place[PLACE_MAX];

	paint_spaces(p, s->indent);
	paint_right(p, PAINT_PLAIN, paint_ms(report_view_ns(v, line->self), number), s->number);
	paint_right(p, PAINT_PLAIN, paint_ms(report_view_ns(v, line->total), number), s->number);
	paint_spaces(p, s->gap);
	paint_tail_cell(p, PAINT_PLAIN, make_name(v, line, s->name), s->name, true);
	paint_spaces(p, 2);
	make_place(v, line, p->columns, place);
	paint_tail_cell(p, PAINT_PLAIN, place, s->place, false);
	paint_end_line(p);
	if (line->path_self < line->self)
		paint_share(line->path_self, line->self, share);
	call_path_paint(p, v, line->stack, share, prefix(s) + 2, p->columns - prefix(s) - 2);
}

int hot_list_paint(const struct paint *p, const struct report_view *v, const uint32_t *rows,
		   size_t row_count, size_t max, bool titles)
{
	struct hot_line lines[LINES_MAX];
	struct shape shape;
	size_t i, found;
	int err;

	if (max > LINES_MAX)
		max = LINES_MAX;
	err = hot_lines_find(v, rows, row_count, lines, max, &found);
	if (err)
		return err;
	if (found > max)
		found = max;
	make_shape(v, lines, found, p->columns, &shape);
	if (titles && found)
		paint_titles(p, &shape);
	for (i = 0; i < found; i++)
		paint_line(p, v, &lines[i], &shape);
	return 0;
}
