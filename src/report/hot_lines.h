/* SPDX-License-Identifier: Apache-2.0 */
/* The lines on which a set of samples was taken, and the functions they belong to. */
#ifndef REPORT_HOT_LINES_H
#define REPORT_HOT_LINES_H

#include <stddef.h>
#include <stdint.h>

#include "base/location.h"
#include "report/report_view.h"

/* One frame of a stack, inlined ones included. */
struct stack_frame {
	uint32_t function; /* row of functions, 0 unknown */
	uint32_t line;
	uint32_t mapping; /* row of mappings; only set when the function is unknown */
	enum frame_kind kind;
};

struct hot_line {
	struct stack_frame at;
	uint64_t self;	    /* samples on the line itself */
	uint64_t total;	    /* samples with the line anywhere on their stack */
	uint32_t stack;	    /* one of the call path that led to it most often */
	uint64_t path;	    /* tells call paths apart: functions without lines, recursion once */
	uint64_t path_self; /* samples of `self` that came by that path */
};

#define STACK_FRAMES_MAX 1024

/* All frames of a stack, leaf first; how many. */
size_t stack_frames(const struct report_view *v, uint32_t stack, struct stack_frame *out,
		    size_t max);
/*
 * The `max` lines with the most self samples among `rows` (rows of the samples table), most
 * first; how many there are in `found`. -ENOMEM.
 */
int hot_lines_find(const struct report_view *v, const uint32_t *rows, size_t row_count,
		   struct hot_line *out, size_t max, size_t *found);
/* The function a sample is blamed on: the innermost one outside runtime and kernel. */
struct stack_frame hot_lines_blame(const struct report_view *v, uint32_t row);
/* The same of a stack, whose innermost function of the program's own counts if there is one. */
struct stack_frame stack_blame_own(const struct report_view *v, uint32_t stack);
/* What to call a frame; never "". */
const char *stack_frame_name(const struct report_view *v, const struct stack_frame *frame);
const char *stack_frame_file(const struct report_view *v, const struct stack_frame *frame);

#endif
