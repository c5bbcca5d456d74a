/* SPDX-License-Identifier: Apache-2.0 */
/* Text in columns: cut, padded and wrapped by display width, styled when colors are wanted. */
#ifndef REPORT_PAINT_H
#define REPORT_PAINT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buffer;

#define PAINT_NUMBER_MAX 32

/* Bold and dim keep the terminal's own colors: readable on light and dark ground. */
enum paint_style { PAINT_PLAIN, PAINT_BOLD, PAINT_DIM };

struct paint {
	struct buffer *out; /* lent */
	bool color;
	size_t columns;
};

void paint_text(const struct paint *p, enum paint_style style, const char *text);
void paint_spaces(const struct paint *p, size_t count);
void paint_end_line(const struct paint *p);
/* Cut at its end ("…") to at most `columns`, padded to them when `pad`. */
void paint_cell(const struct paint *p, enum paint_style style, const char *text, size_t columns,
		bool pad);
/* Cut at its front, padded: for names whose end says most. */
void paint_tail_cell(const struct paint *p, enum paint_style style, const char *text,
		     size_t columns, bool pad);
/* Cut like a cell, padded on the left. */
void paint_right(const struct paint *p, enum paint_style style, const char *text, size_t columns);
/* Words of `text`, broken at spaces, each line behind `indent` spaces. A bare "·" never begins
 * or ends a line. */
void paint_wrapped(const struct paint *p, enum paint_style style, const char *text, size_t indent);
size_t paint_width(const char *text);
/* "… and 13 more names, 1,234 ms": `noun` is of one, `sum` of all that are left out. */
void paint_rest(const struct paint *p, size_t count, const char *noun, const char *sum);
/* A line with a span's IDs in hex digits, two where it is too long for one. */
void paint_span_ids(const struct paint *p, const uint8_t trace_id[16], const uint8_t span_id[8]);

/* "12,345"; of nanoseconds in milliseconds; of a part in percent, "7.1 %". All return `to`. */
const char *paint_number(uint64_t value, char to[PAINT_NUMBER_MAX]);
const char *paint_ms(uint64_t ns, char to[PAINT_NUMBER_MAX]);
const char *paint_share(uint64_t part, uint64_t whole, char to[PAINT_NUMBER_MAX]);
const char *paint_seconds(uint64_t ns, char to[PAINT_NUMBER_MAX]);

#endif
