/* SPDX-License-Identifier: Apache-2.0 */
/* One span after the other: what it is, then goroutine after goroutine. See dump.h. */
#include "report/dump.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/bytes.h"
#include "base/hex.h"
#include "base/location.h"
#include "report/names.h"
#include "report/paint.h"
#include "report/report_view.h"

#define UNCUT_COLUMNS  100000 /* of a pipe */
#define TITLE_COLUMNS  80     /* farther apart, the eye loses the row */
#define STACK_INDENT   6
#define FUNCTION_MIN   16
#define FUNCTION_MAX   64 /* columns that are kept free for functions, so that files align */
#define PLACE_MAX      512
#define FILE_PARTS     2
#define DOT	       " \xc2\xb7 "
#define NARROW_COLUMNS 40

static struct paint begin(const struct dump_options *options, struct buffer *out)
{
	size_t columns = options->columns ? options->columns : UNCUT_COLUMNS;

	return (struct paint){out, options->color,
			      columns < NARROW_COLUMNS ? NARROW_COLUMNS : columns};
}

static const char *plural(size_t count)
{
	return count == 1 ? "" : "s";
}

/* "230 ms", "12.3 s", "12 min 3 s", "3 h 12 min" */
static void write_age(uint64_t ns, char *to, size_t size)
{
	uint64_t s = ns / 1000000000;

	if (!s)
		snprintf(to, size, "%" PRIu64 " ms", ns / 1000000);
	else if (s < 60)
		snprintf(to, size, "%" PRIu64 ".%" PRIu64 " s", s, ns / 100000000 % 10);
	else if (s < 3600)
		snprintf(to, size, "%" PRIu64 " min %" PRIu64 " s", s / 60, s % 60);
	else
		snprintf(to, size, "%" PRIu64 " h %" PRIu64 " min", s / 3600, s / 60 % 60);
}

static void print_ran(const struct paint *p, const struct dump_head *head)
{
	char line[512];
	size_t used = (size_t)snprintf(line, sizeof(line),
				       "%zu goroutine%s ran each time %s looked at, and could not "
				       "be read: number",
				       head->ran, plural(head->ran),
				       head->ran == 1 ? "it was" : "they were");

	for (size_t i = 0; i < head->ran_goid_count; i++)
		used += (size_t)snprintf(line + used, sizeof(line) - used, "%s %" PRIu64,
					 i ? "," : "", head->ran_goids[i]);
	if (head->ran > head->ran_goid_count)
		snprintf(line + used, sizeof(line) - used, " \xe2\x80\xa6");
	paint_wrapped(p, PAINT_PLAIN, line, 0);
}

void dump_print_head(const struct dump_options *options, const struct dump_head *head,
		     struct buffer *out)
{
	struct paint p = begin(options, out);
	char line[512], spans[PAINT_NUMBER_MAX], goroutines[PAINT_NUMBER_MAX];

	snprintf(line, sizeof(line), "%s open span%s" DOT "%s (pid %d)" DOT "%s goroutine%s",
		 head->spans ? paint_number(head->spans, spans) : "no", plural(head->spans),
		 head->service, (int)head->pid, paint_number(head->goroutines, goroutines),
		 plural(head->goroutines));
	paint_wrapped(&p, PAINT_BOLD, line, 0);
	if (head->ran)
		print_ran(&p, head);
	if (head->left_out) {
		snprintf(line, sizeof(line),
			 "%zu more goroutine%s with open spans left out: there is no room for them",
			 head->left_out, plural(head->left_out));
		paint_wrapped(&p, PAINT_PLAIN, line, 0);
	}
}

/* The age stands at the right of the name, or where a long one ends. */
static void print_title(const struct paint *p, size_t number, const struct dump_span *span)
{
	size_t columns = p->columns < TITLE_COLUMNS ? p->columns : TITLE_COLUMNS, used, room;
	char age[64], digits[32];

	write_age(span->age_ns, age, sizeof(age));
	snprintf(digits, sizeof(digits), "%2zu. ", number);
	columns -= paint_width(digits) + paint_width(age) + 2;
	room = p->columns - (paint_width(digits) + paint_width(age) + 2);
	used = paint_width(span->name) < room ? paint_width(span->name) : room;
	paint_text(p, PAINT_PLAIN, digits);
	paint_cell(p, PAINT_BOLD, span->name, room, false);
	paint_spaces(p, 2 + (used < columns ? columns - used : 0));
	paint_text(p, PAINT_BOLD, age);
	paint_end_line(p);
}

static void write_place(const struct frame *frame, size_t parts, char to[PLACE_MAX])
{
	if (!*frame->file)
		to[0] = '\0';
	else if (frame->line)
		snprintf(to, PLACE_MAX, "%s:%" PRIu32, names_file_tail(frame->file, parts),
			 frame->line);
	else
		snprintf(to, PLACE_MAX, "%s", names_file_tail(frame->file, parts));
}

/* Columns for the functions of a stack, so that the places stand below one another. */
static size_t function_columns(const struct paint *p, const struct dump_goroutine *g)
{
	size_t columns = FUNCTION_MIN, longest_place = 0;
	char place[PLACE_MAX];

	for (size_t i = 0; i < g->frame_count; i++) {
		size_t function = paint_width(g->frames[i]->function);

		write_place(g->frames[i], FILE_PARTS, place);
		if (function > columns)
			columns = function;
		if (paint_width(place) > longest_place)
			longest_place = paint_width(place);
	}
	if (columns > FUNCTION_MAX)
		columns = FUNCTION_MAX;
	if (STACK_INDENT + columns + 2 + longest_place > p->columns)
		columns = p->columns > STACK_INDENT + FUNCTION_MIN + 2 + longest_place
				  ? p->columns - STACK_INDENT - 2 - longest_place
				  : FUNCTION_MIN;
	return columns;
}

/* Where both do not fit, the package's path goes first, then the function's beginning. */
static void print_frame(const struct paint *p, const struct frame *frame, size_t columns)
{
	const char *name = *frame->function ? frame->function : "(unknown)";
	char place[PLACE_MAX];
	size_t room;

	write_place(frame, FILE_PARTS, place);
	room = p->columns - STACK_INDENT - 2;
	room = paint_width(place) < room ? room - paint_width(place) : 0;
	room = room > columns ? room : columns;
	if (paint_width(name) > room)
		name = names_short(name);
	paint_spaces(p, STACK_INDENT);
	paint_tail_cell(p, PAINT_PLAIN, name, paint_width(name) > columns ? room : columns,
			paint_width(name) <= columns);
	paint_spaces(p, 2);
	paint_tail_cell(p, PAINT_DIM, place, p->columns - STACK_INDENT - 2 - columns, false);
	paint_end_line(p);
}

static void print_candidates(const struct paint *p, const struct dump_goroutine *g)
{
	const char *words = g->for_lock ? "may be held by" : "may wait for";
	char line[2048], place[PLACE_MAX], span_id[17];

	for (size_t i = 0; i < g->candidate_count; i++) {
		const struct dump_candidate *c = &g->candidates[i];

		hex_write(c->span_id, sizeof(c->span_id), span_id);
		write_place(c->at, 1, place);
		snprintf(line, sizeof(line), "%s: span %s %s (goroutine %" PRIu64 ", %s %s)", words,
			 span_id, c->span_name, c->goid, names_short(c->at->function), place);
		paint_wrapped(p, PAINT_PLAIN, line, STACK_INDENT);
	}
	if (g->candidates_more) {
		snprintf(line, sizeof(line), "%s: %zu more", words, g->candidates_more);
		paint_wrapped(p, PAINT_PLAIN, line, STACK_INDENT);
	}
}

static void print_goroutine(const struct paint *p, const struct dump_goroutine *g)
{
	char line[256], span_id[17];
	int used = snprintf(line, sizeof(line), "goroutine %" PRIu64 " %s%s", g->goid, g->state,
			    g->by_context ? " by its context" : "");
	size_t columns = function_columns(p, g);

	if (g->other_span_id) {
		hex_write(g->other_span_id, sizeof(span_id) / 2, span_id);
		snprintf(line + used, sizeof(line) - (size_t)used, ", now in span %s", span_id);
	}
	paint_wrapped(p, PAINT_PLAIN, line, 4);
	for (size_t i = 0; i < g->frame_count; i++)
		print_frame(p, g->frames[i], columns);
	if (g->deeper) {
		snprintf(line, sizeof(line), "\xe2\x80\xa6 %zu or more frames further out",
			 g->deeper);
		paint_wrapped(p, PAINT_DIM, line, STACK_INDENT);
	}
	print_candidates(p, g);
}

void dump_print_span(const struct dump_options *options, size_t number,
		     const struct dump_span *span, struct buffer *out)
{
	struct paint p = begin(options, out);
	char line[64];

	paint_end_line(&p);
	print_title(&p, number, span);
	paint_span_ids(&p, span->trace_id, span->span_id);
	for (size_t i = 0; i < span->goroutine_count; i++)
		print_goroutine(&p, &span->goroutines[i]);
	if (span->goroutines_more) {
		snprintf(line, sizeof(line), "and %zu more goroutine%s", span->goroutines_more,
			 plural(span->goroutines_more));
		paint_wrapped(&p, PAINT_PLAIN, line, 4);
	}
}

void dump_print_note(const struct dump_options *options, struct buffer *out)
{
	struct paint p = begin(options, out);

	paint_end_line(&p);
	paint_wrapped(
		&p, PAINT_DIM,
		"\"may be held by\" and \"may wait for\" name candidates, no more: who stands in "
		"the function that uses the lock or channel, else who waits for a lock as well.",
		0);
}
