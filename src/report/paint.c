/* SPDX-License-Identifier: Apache-2.0 */
/* Writes styled, fitted text into a buffer. */
#include "report/paint.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/bytes.h"
#include "base/hex.h"
#include "report/width.h"

#define ID_LINE_COLUMNS 66 /* "    trace " 32 "  span " 16, and a little */

#define ELLIPSIS       "\xe2\x80\xa6"
#define NARROW_COLUMNS 8

static void begin(const struct paint *p, enum paint_style style)
{
	if (p->color && style == PAINT_BOLD)
		buffer_add(p->out, "\033[1m", 4);
	else if (p->color && style == PAINT_DIM)
		buffer_add(p->out, "\033[2m", 4);
}

static void end(const struct paint *p, enum paint_style style)
{
	if (p->color && style != PAINT_PLAIN)
		buffer_add(p->out, "\033[0m", 4);
}

size_t paint_width(const char *text)
{
	return width_of(text, strlen(text));
}

void paint_text(const struct paint *p, enum paint_style style, const char *text)
{
	begin(p, style);
	buffer_add(p->out, text, strlen(text));
	end(p, style);
}

void paint_spaces(const struct paint *p, size_t count)
{
	static const char spaces[] = "                                ";
	size_t piece;

	for (; count; count -= piece) {
		piece = count < sizeof(spaces) - 1 ? count : sizeof(spaces) - 1;
		buffer_add(p->out, spaces, piece);
	}
}

/* No spaces at line ends: they would wrap in a terminal that was made narrower. */
void paint_end_line(const struct paint *p)
{
	while (p->out->size && p->out->data[p->out->size - 1] == ' ')
		p->out->size--;
	buffer_add(p->out, "\n", 1);
}

void paint_cell(const struct paint *p, enum paint_style style, const char *text, size_t columns,
		bool pad)
{
	size_t size = strlen(text), used = width_of(text, size), kept = size;
	bool cut = used > columns;

	if (cut)
		kept = width_prefix(text, size, columns ? columns - 1 : 0, &used);
	begin(p, style);
	buffer_add(p->out, text, kept);
	if (cut && columns) {
		buffer_add(p->out, ELLIPSIS, strlen(ELLIPSIS));
		used++;
	}
	end(p, style);
	if (pad && used < columns)
		paint_spaces(p, columns - used);
}

void paint_tail_cell(const struct paint *p, enum paint_style style, const char *text,
		     size_t columns, bool pad)
{
	size_t size = strlen(text), used = width_of(text, size), left_out = 0;
	bool cut = used > columns;

	if (cut)
		left_out = width_suffix(text, size, columns ? columns - 1 : 0, &used);
	begin(p, style);
	if (cut && columns) {
		buffer_add(p->out, ELLIPSIS, strlen(ELLIPSIS));
		used++;
	}
	buffer_add(p->out, text + left_out, size - left_out);
	end(p, style);
	if (pad && used < columns)
		paint_spaces(p, columns - used);
}

void paint_right(const struct paint *p, enum paint_style style, const char *text, size_t columns)
{
	size_t width = paint_width(text);

	if (width < columns)
		paint_spaces(p, columns - width);
	paint_cell(p, style, text, columns, false);
}

/* A word up to the next space; a following "·" belongs to it. */
static size_t word_size(const char *text)
{
	size_t size = strcspn(text, " ");

	if (!strncmp(text + size, " \xc2\xb7 ", 4))
		size += 3;
	return size;
}

void paint_wrapped(const struct paint *p, enum paint_style style, const char *text, size_t indent)
{
	size_t room = p->columns > indent + NARROW_COLUMNS ? p->columns - indent : NARROW_COLUMNS;
	size_t used = 0, size, width;

	while (*text) {
		text += strspn(text, " ");
		size = word_size(text);
		if (!size)
			break;
		width = width_of(text, size);
		if (used && used + 1 + width > room) {
			end(p, style);
			paint_end_line(p);
			used = 0;
		}
		if (!used) {
			paint_spaces(p, indent);
			begin(p, style);
		} else {
			buffer_add(p->out, " ", 1);
			used++;
		}
		buffer_add(p->out, text, size);
		used += width;
		text += size;
	}
	if (used)
		end(p, style);
	paint_end_line(p);
}

const char *paint_number(uint64_t value, char to[PAINT_NUMBER_MAX])
{
	char digits[PAINT_NUMBER_MAX];
	int size = snprintf(digits, sizeof(digits), "%" PRIu64, value), i, used = 0;

	for (i = 0; i < size; i++) {
		if (i && (size - i) % 3 == 0)
			to[used++] = ',';
		to[used++] = digits[i];
	}
	to[used] = '\0';
	return to;
}

const char *paint_ms(uint64_t ns, char to[PAINT_NUMBER_MAX])
{
	return paint_number((ns + 500000) / 1000000, to);
}

const char *paint_share(uint64_t part, uint64_t whole, char to[PAINT_NUMBER_MAX])
{
	snprintf(to, PAINT_NUMBER_MAX, "%.1f %%",
		 whole ? 100.0 * (double)part / (double)whole : 0.0);
	return to;
}

const char *paint_seconds(uint64_t ns, char to[PAINT_NUMBER_MAX])
{
	snprintf(to, PAINT_NUMBER_MAX, "%.1f s", (double)ns / 1e9);
	return to;
}

void paint_rest(const struct paint *p, size_t count, const char *noun, const char *sum)
{
	char number[PAINT_NUMBER_MAX], line[128];

	snprintf(line, sizeof(line), "\xe2\x80\xa6 and %s more %s%s, %s",
		 paint_number(count, number), noun, count == 1 ? "" : "s", sum);
	paint_cell(p, PAINT_DIM, line, p->columns, false);
	paint_end_line(p);
}

void paint_span_ids(const struct paint *p, const uint8_t trace_id[16], const uint8_t span_id[8])
{
	char trace[33], span[17];

	hex_write(trace_id, 16, trace);
	hex_write(span_id, 8, span);
	paint_text(p, PAINT_PLAIN, "    trace ");
	paint_text(p, PAINT_PLAIN, trace);
	if (p->columns < ID_LINE_COLUMNS) {
		paint_end_line(p);
		paint_spaces(p, 2);
	}
	paint_text(p, PAINT_PLAIN, "  span ");
	paint_text(p, PAINT_PLAIN, span);
	paint_end_line(p);
}
