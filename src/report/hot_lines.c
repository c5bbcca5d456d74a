/* SPDX-License-Identifier: Apache-2.0 */
/* Finds hot lines by sorting leaves; only those that are shown get their totals. */
#include "report/hot_lines.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/handle_index.h"
#include "report/names.h"

/* Walks a stack frame by frame, leaf first. */
struct walk {
	const struct profile_view *profile;
	const struct profile_stack *stack;
	uint32_t location; /* index within the stack */
	uint32_t line;	   /* index within the location */
};

static struct walk walk_stack(const struct report_view *v, uint32_t stack)
{
	return (struct walk){.profile = &v->profile, .stack = &v->profile.stacks[stack]};
}

static bool walk_next(struct walk *w, struct stack_frame *out)
{
	const struct profile_location *location;
	const struct profile_line *line;
	uint32_t row;

	memset(out, 0, sizeof(*out));
	if (!w->stack->location_count) /* nothing is known: one frame that says so */
		return !w->line++;
	if (w->location == w->stack->location_count)
		return false;
	row = w->profile->stack_locations[w->stack->first_location + w->location];
	location = &w->profile->locations[row];
	out->kind = location->kind;
	if (w->line < location->line_count) {
		line = &w->profile->lines[location->first_line + w->line];
		out->function = line->function;
		out->line = line->line;
	}
	if (!out->function)
		out->mapping = location->mapping;
	if (++w->line >= location->line_count) {
		w->location++;
		w->line = 0;
	}
	return true;
}

size_t stack_frames(const struct report_view *v, uint32_t stack, struct stack_frame *out,
		    size_t max)
{
	struct walk walk = walk_stack(v, stack);
	size_t count = 0;

	while (count < max && walk_next(&walk, &out[count]))
		count++;
	return count;
}

const char *stack_frame_name(const struct report_view *v, const struct stack_frame *frame)
{
	const char *name = report_view_string(v, v->profile.functions[frame->function].name);

	if (*name)
		return name;
	name = report_view_string(v, v->profile.mappings[frame->mapping].file);
	if (*name)
		return names_file_tail(name, 1);
	return frame->kind == FRAME_KERNEL ? "[kernel]" : "[unknown]";
}

const char *stack_frame_file(const struct report_view *v, const struct stack_frame *frame)
{
	return report_view_string(v, v->profile.functions[frame->function].file);
}

static int compare_frames(const struct stack_frame *a, const struct stack_frame *b)
{
	if (a->function != b->function)
		return a->function < b->function ? -1 : 1;
	if (a->line != b->line)
		return a->line < b->line ? -1 : 1;
	if (a->mapping != b->mapping)
		return a->mapping < b->mapping ? -1 : 1;
	return (int)a->kind - (int)b->kind;
}

/* By line and call path; then by samples, so that the first one has the usual stack. */
static int by_line(const void *left, const void *right)
{
	const struct hot_line *a = left, *b = right;
	int order = compare_frames(&a->at, &b->at);

	if (order)
		return order;
	if (a->path != b->path)
		return a->path < b->path ? -1 : 1;
	if (a->self != b->self)
		return a->self > b->self ? -1 : 1;
	return a->stack < b->stack ? -1 : a->stack > b->stack;
}

static int by_self(const void *left, const void *right)
{
	const struct hot_line *a = left, *b = right;

	if (a->self != b->self)
		return a->self > b->self ? -1 : 1;
	return compare_frames(&a->at, &b->at);
}

static size_t merge_paths(struct hot_line *all, size_t count)
{
	size_t i, kept = 0;

	for (i = 0; i < count; i++) {
		struct hot_line *last = kept ? &all[kept - 1] : NULL;

		if (last && last->path == all[i].path && !compare_frames(&last->at, &all[i].at))
			last->path_self += all[i].path_self;
		else
			all[kept++] = all[i];
	}
	return kept;
}

/* Of each line the path with the most samples stays. */
static size_t merge_lines(struct hot_line *all, size_t count)
{
	size_t i, kept = 0;

	for (i = 0; i < count; i++) {
		struct hot_line *last = kept ? &all[kept - 1] : NULL;
		uint64_t self = all[i].path_self;

		if (last && !compare_frames(&last->at, &all[i].at)) {
			self += last->self;
			if (all[i].path_self > last->path_self)
				*last = all[i];
		} else {
			all[kept++] = all[i];
			last = &all[kept - 1];
		}
		last->self = self;
	}
	return kept;
}

static uint64_t call_path(const struct report_view *v, uint32_t stack)
{
	struct walk walk = walk_stack(v, stack);
	struct stack_frame frame;
	struct {
		uint64_t path; /* up to here */
		uint32_t function, mapping;
	} step = {.function = UINT32_MAX};

	while (walk_next(&walk, &frame)) {
		if (frame.function && frame.function == step.function)
			continue;
		step.function = frame.function;
		step.mapping = frame.mapping;
		step.path = handle_hash(&step, sizeof(step));
	}
	return step.path;
}

/* A line that stands on a stack several times (recursion) counts once. */
static void add_totals(const struct report_view *v, const uint32_t *rows, size_t row_count,
		       struct hot_line *lines, size_t count)
{
	const struct profile_sample *sample;
	struct stack_frame frame;
	struct walk walk;
	uint64_t seen;
	size_t i, k;

	for (i = 0; i < row_count; i++) {
		sample = &v->profile.samples[rows[i]];
		walk = walk_stack(v, sample->stack);
		seen = 0;
		while (walk_next(&walk, &frame)) {
			for (k = 0; k < count; k++) {
				if (!(seen >> k & 1) && !compare_frames(&lines[k].at, &frame)) {
					seen |= UINT64_C(1) << k;
					lines[k].total += sample->count;
				}
			}
		}
	}
}

int hot_lines_find(const struct report_view *v, const uint32_t *rows, size_t row_count,
		   struct hot_line *out, size_t max, size_t *found)
{
	const struct profile_sample *sample;
	struct hot_line *all;
	struct walk walk;
	size_t i, count;

	*found = 0;
	all = calloc(row_count + 1, sizeof(*all));
	if (!all)
		return -ENOMEM;
	for (i = 0; i < row_count; i++) {
		sample = &v->profile.samples[rows[i]];
		walk = walk_stack(v, sample->stack);
		walk_next(&walk, &all[i].at);
		all[i].self = sample->count;
		all[i].path_self = sample->count;
		all[i].stack = sample->stack;
		all[i].path = call_path(v, sample->stack);
	}
	qsort(all, row_count, sizeof(*all), by_line);
	count = merge_lines(all, merge_paths(all, row_count));
	qsort(all, count, sizeof(*all), by_self);
	*found = count;
	if (max > 64)
		max = 64; /* bits of `seen` */
	if (count > max)
		count = max;
	add_totals(v, rows, row_count, all, count);
	memcpy(out, all, count * sizeof(*out));
	free(all);
	return 0;
}

/* Of no use to a person who looks for a place in the program. */
static bool is_below_program(const struct report_view *v, const struct stack_frame *frame)
{
	return frame->kind == FRAME_KERNEL || frame->kind == FRAME_STATE || !frame->function ||
	       (frame->kind == FRAME_GO && names_is_runtime(stack_frame_name(v, frame)));
}

struct stack_frame hot_lines_blame(const struct report_view *v, uint32_t row)
{
	struct walk walk = walk_stack(v, v->profile.samples[row].stack);
	struct stack_frame frame, leaf = {0};
	bool first = true;

	while (walk_next(&walk, &frame)) {
		if (first)
			leaf = frame;
		first = false;
		if (!is_below_program(v, &frame))
			return frame;
	}
	return leaf;
}

struct stack_frame stack_blame_own(const struct report_view *v, uint32_t stack)
{
	struct walk walk = walk_stack(v, stack);
	struct stack_frame frame, best = {0};

	while (walk_next(&walk, &frame)) {
		if (is_below_program(v, &frame))
			continue;
		if (!best.function)
			best = frame;
		if (names_is_own(stack_frame_name(v, &frame), stack_frame_file(v, &frame)))
			return frame;
	}
	return best;
}
