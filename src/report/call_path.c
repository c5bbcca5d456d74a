/* SPDX-License-Identifier: Apache-2.0 */
/* Chooses which functions of a stack are worth their room. */
#include "report/call_path.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/bytes.h"
#include "report/hot_lines.h"
#include "report/names.h"

#define ARROW	 " \xe2\x86\x92 "
#define ELLIPSIS "\xe2\x80\xa6"
/* Beyond this a path is read by nobody. */
#define STEPS_MAX   128
#define COLUMNS_MAX 140

struct step {
	const char *name;
	size_t width;
	unsigned times; /* direct recursion */
	bool own, keep;
};

struct path {
	struct step steps[STEPS_MAX]; /* outermost first */
	size_t count;
	bool cut; /* between the first two steps others are missing */
};

/* The outermost frame of the service's own code, else the outermost outside the runtime. */
static size_t find_top(const struct report_view *v, const struct stack_frame *frames, size_t count)
{
	const char *name;
	size_t i, foreign = count;

	for (i = count; i-- > 0;) {
		if (frames[i].kind != FRAME_GO)
			continue;
		name = stack_frame_name(v, &frames[i]);
		if (names_is_own(name, stack_frame_file(v, &frames[i])))
			return i;
		if (foreign == count && !names_is_runtime(name))
			foreign = i;
	}
	if (foreign < count)
		return foreign;
	/* Every goroutine begins there: it says nothing. */
	return count > 1 && !strcmp(stack_frame_name(v, &frames[count - 1]), "runtime.goexit")
		       ? count - 2
		       : count - 1;
}

static size_t times_width(unsigned times)
{
	return times < 2 ? 0 : times < 10 ? 3 : times < 100 ? 4 : 5;
}

static void add_step(struct path *path, const struct report_view *v,
		     const struct stack_frame *frame)
{
	const char *full = stack_frame_name(v, frame), *name = names_short(full);
	struct step *last = path->count ? &path->steps[path->count - 1] : NULL;

	if (last && !strcmp(last->name, name)) {
		last->times++;
		return;
	}
	if (path->count == STEPS_MAX) {
		/* Too deep: the outermost stays, and what is nearest to the leaf. */
		memmove(&path->steps[1], &path->steps[2], (STEPS_MAX - 2) * sizeof(*last));
		path->count--;
		path->cut = true;
	}
	path->steps[path->count++] = (struct step){
		.name = name,
		.width = paint_width(name),
		.times = 1,
		.own = frame->kind == FRAME_GO && names_is_own(full, stack_frame_file(v, frame)),
	};
}

static void build(struct path *path, const struct report_view *v, uint32_t stack)
{
	struct stack_frame frames[STACK_FRAMES_MAX];
	size_t i, count = stack_frames(v, stack, frames, STACK_FRAMES_MAX);

	path->count = 0;
	path->cut = false;
	if (!count)
		return;
	for (i = find_top(v, frames, count) + 1; i-- > 0;)
		add_step(path, v, &frames[i]);
}

/* Columns of the steps that are kept, with one "…" for each gap. */
static size_t kept_width(const struct path *path)
{
	size_t i, width = 0, parts = 0;
	bool gap = false;

	for (i = 0; i < path->count; i++) {
		if (path->steps[i].keep) {
			width += path->steps[i].width + times_width(path->steps[i].times);
			parts++;
			gap = false;
		} else if (!gap) {
			width++;
			parts++;
			gap = true;
		}
	}
	return width + (parts ? 3 * (parts - 1) : 0);
}

static bool is_entry(const struct path *path, size_t i)
{
	return i && path->steps[i - 1].own && !path->steps[i].own;
}

/* Keeps the steps of one kind, those near the leaf first, as long as they fit. */
static void keep_more(struct path *path, size_t columns, int kind)
{
	size_t i;
	bool wanted;

	for (i = path->count; i-- > 0;) {
		if (path->steps[i].keep || (path->cut && i == 1))
			continue;
		wanted = kind == 0 ? path->steps[i].own : kind == 1 ? is_entry(path, i) : true;
		if (!wanted)
			continue;
		path->steps[i].keep = true;
		if (kept_width(path) > columns) {
			path->steps[i].keep = false;
			return;
		}
	}
}

static void paint_step(const struct paint *p, const struct step *step, size_t room)
{
	char times[16];
	size_t width = times_width(step->times);

	paint_tail_cell(p, PAINT_DIM, step->name, room > width ? room - width : 0, false);
	if (step->times < 2)
		return;
	snprintf(times, sizeof(times), " \xc3\x97%u", step->times < 1000 ? step->times : 999);
	paint_text(p, PAINT_DIM, times);
}

void call_path_paint(const struct paint *p, const struct report_view *v, uint32_t stack,
		     const char *share, size_t indent, size_t columns)
{
	size_t i, room, prefix = *share ? paint_width(share) + 2 : 0;
	bool gap = false, fits;
	struct path path;

	columns = columns > prefix ? columns - prefix : 1;
	if (columns > COLUMNS_MAX)
		columns = COLUMNS_MAX;
	build(&path, v, stack);
	if (path.count < 2)
		return;
	path.steps[0].keep = path.steps[path.count - 1].keep = true;
	fits = kept_width(&path) <= columns;
	if (fits) {
		keep_more(&path, columns, 0);
		keep_more(&path, columns, 1);
		keep_more(&path, columns, 2);
	}
	/* Even the two ends are too long: each gets half of what "… → … → …" leaves. */
	room = fits ? SIZE_MAX : columns > 7 ? (columns - 7) / 2 : 0;
	paint_spaces(p, indent);
	if (*share) {
		paint_text(p, PAINT_DIM, share);
		paint_spaces(p, 2);
	}
	for (i = 0; i < path.count; i++) {
		if (!path.steps[i].keep && gap)
			continue;
		if (i)
			paint_text(p, PAINT_DIM, ARROW);
		gap = !path.steps[i].keep;
		if (gap)
			paint_text(p, PAINT_DIM, ELLIPSIS);
		else
			paint_step(p, &path.steps[i], room);
	}
	paint_end_line(p);
}
