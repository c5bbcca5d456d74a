/* SPDX-License-Identifier: Apache-2.0 */
/* A place's time is told by how many goroutines stood there on average, too. See wait_list.h. */
#include "report/wait_list.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "report/wait_places.h"

#define TIME_COLUMNS	   12
#define GOROUTINES_COLUMNS 12
#define PLACE_MAX	   512

/* "1,000.0" */
static const char *average(const struct report_view *v, uint64_t ns, char to[PAINT_NUMBER_MAX])
{
	double goroutines = (double)ns / (double)v->profile.covered_ns;
	char whole[PAINT_NUMBER_MAX];
	uint64_t tenths = (uint64_t)(goroutines * 10 + 0.5);

	snprintf(to, PAINT_NUMBER_MAX, "%s.%u", paint_number(tenths / 10, whole),
		 (unsigned)(tenths % 10));
	return to;
}

static void paint_row(const struct paint *p, const struct report_view *v,
		      const struct wait_place *place)
{
	char number[PAINT_NUMBER_MAX], text[PLACE_MAX];
	size_t used = TIME_COLUMNS + 2, room;

	paint_right(p, PAINT_PLAIN, paint_seconds(place->ns, number), TIME_COLUMNS);
	if (v->profile.covered_ns) {
		paint_right(p, PAINT_PLAIN, average(v, place->ns, number), GOROUTINES_COLUMNS);
		used += GOROUTINES_COLUMNS;
	}
	room = p->columns > used ? p->columns - used : 1;
	paint_spaces(p, 2);
	wait_places_text(v, place, room, text, sizeof(text));
	paint_cell(p, PAINT_PLAIN, text, room, false);
	paint_end_line(p);
}

static void paint_titles(const struct paint *p, const struct report_view *v)
{
	paint_right(p, PAINT_DIM, "time", TIME_COLUMNS);
	if (v->profile.covered_ns)
		paint_right(p, PAINT_DIM, "goroutines", GOROUTINES_COLUMNS);
	paint_spaces(p, 2);
	paint_cell(p, PAINT_DIM, "what for", sizeof("what for"), false);
	paint_end_line(p);
}

static void paint_other_places(const struct paint *p, const struct wait_place *places, size_t count)
{
	char time[PAINT_NUMBER_MAX];
	uint64_t ns = 0;

	for (size_t i = 0; i < count; i++)
		ns += places[i].ns;
	paint_rest(p, count, "place", paint_seconds(ns, time));
}

int wait_list_paint(const struct paint *p, const struct report_view *v, size_t lines_max)
{
	struct wait_place *places = calloc(v->outside_waits + 1, sizeof(*places));
	size_t count, shown;

	if (!places)
		return -ENOMEM;
	for (size_t i = 0; i < v->outside_waits; i++)
		places[i] = wait_places_get(v, v->waits[i]);
	count = wait_places_unite(places, v->outside_waits);
	shown = count < lines_max ? count : lines_max;
	paint_titles(p, v);
	for (size_t i = 0; i < shown; i++)
		paint_row(p, v, &places[i]);
	if (shown < count)
		paint_other_places(p, places + shown, count - shown);
	free(places);
	return 0;
}
