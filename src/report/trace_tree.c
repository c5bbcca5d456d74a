/* SPDX-License-Identifier: Apache-2.0 */
/* Parents and times are the services' claims: a parent may be missing, or its own child. */
#include "report/trace_tree.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "spans/spans.h"

#define SPANS_MAX   256 /* of one trace; the earliest handles */
#define INDENT	    2
#define INDENT_MAX  16
#define NAME_MIN    18
#define NAME_MAX    48
#define BAR_COLUMNS 26
#define BAR	    "\xe2\x94\x81" /* ━ */

enum column { TOOK, ON_CPU, OFF_CPU, STARTS, COLUMN_COUNT };

static const struct {
	const char *title;
	size_t width;
} columns[COLUMN_COUNT] = {
	[TOOK] = {"took ms", 10},
	[ON_CPU] = {"CPU ms", 10},
	[OFF_CPU] = {"off CPU ms", 12}, /* where waits are known */
	[STARTS] = {"starts ms", 11},
};

struct node {
	const struct span *span;
	size_t parent; /* index + 1; 0: not here */
	size_t depth;
	bool placed; /* its line is in order */
};

struct tree {
	struct node *nodes; /* by start */
	size_t count, all;  /* those here; all of the trace */
	size_t *order;	    /* of lines */
	size_t order_count;
	uint64_t *off_cpu_ns;	   /* by handle of the span, of all that the profile has of it */
	uint64_t start_ns, end_ns; /* of all of them, since 1970 */
};

static bool is_of_trace(const struct report_view *v, const struct span *span,
			const uint8_t trace_id[16])
{
	return !memcmp(span->trace_id, trace_id, sizeof(span->trace_id)) &&
	       (span->ended || report_view_took_ns(v, span));
}

bool trace_tree_has_rows(const struct report_view *v, const uint8_t trace_id[16])
{
	size_t found = 0;

	for (uint32_t handle = 1; handle <= spans_count(v->spans) && found < 2; handle++)
		found += is_of_trace(v, spans_get(v->spans, handle), trace_id);
	return found == 2;
}

static int by_start(const void *left, const void *right)
{
	const struct span *a = ((const struct node *)left)->span;
	const struct span *b = ((const struct node *)right)->span;

	if (a->start_wall_ns != b->start_wall_ns)
		return a->start_wall_ns < b->start_wall_ns ? -1 : 1;
	return a->handle < b->handle ? -1 : 1;
}

static void find_parents(struct tree *t)
{
	for (size_t i = 0; i < t->count; i++)
		for (size_t j = 0; j < t->count && !t->nodes[i].parent; j++)
			if (j != i &&
			    !memcmp(t->nodes[i].span->parent_id, t->nodes[j].span->span_id, 8))
				t->nodes[i].parent = j + 1;
}

static void place(struct tree *t, size_t at, size_t depth)
{
	t->nodes[at].placed = true;
	t->nodes[at].depth = depth;
	t->order[t->order_count++] = at;
}

/* The first child of `parent` that has no place yet; t->count: none. */
static size_t next_child(const struct tree *t, size_t parent)
{
	size_t i = 0;

	while (i < t->count && (t->nodes[i].placed || t->nodes[i].parent != parent + 1))
		i++;
	return i;
}

/* Down to the first child as long as there is one, else back to the parent. */
static void place_all_below(struct tree *t, size_t root)
{
	size_t at = root, child;

	place(t, root, 0);
	for (;;) {
		child = next_child(t, at);
		if (child < t->count) {
			place(t, child, t->nodes[at].depth + 1);
			at = child;
		} else if (at == root) {
			return;
		} else {
			at = t->nodes[at].parent - 1;
		}
	}
}

/* Those without a parent here first; what is left then is a ring, entered where it starts. */
static void put_in_order(struct tree *t)
{
	for (size_t i = 0; i < t->count; i++)
		if (!t->nodes[i].parent)
			place_all_below(t, i);
	for (size_t i = 0; i < t->count; i++)
		if (!t->nodes[i].placed)
			place_all_below(t, i);
}

static void measure(const struct report_view *v, struct tree *t)
{
	t->start_ns = t->nodes[0].span->start_wall_ns;
	t->end_ns = t->start_ns + 1;
	for (size_t i = 0; i < t->count; i++) {
		const struct span *span = t->nodes[i].span;
		uint64_t end_ns = span->start_wall_ns + report_view_took_ns(v, span);

		if (end_ns > t->end_ns)
			t->end_ns = end_ns;
	}
}

static int add_up_waits(const struct report_view *v, struct tree *t)
{
	t->off_cpu_ns = calloc((size_t)spans_count(v->spans) + 1, sizeof(*t->off_cpu_ns));
	if (!t->off_cpu_ns)
		return -ENOMEM;
	for (size_t i = 1; i < v->profile.wait_count; i++)
		t->off_cpu_ns[v->profile.waits[i].span] += v->profile.waits[i].ns;
	return 0;
}

static int grow(const struct report_view *v, const uint8_t trace_id[16], struct tree *t)
{
	t->nodes = calloc(SPANS_MAX, sizeof(*t->nodes));
	t->order = calloc(SPANS_MAX, sizeof(*t->order));
	if (!t->nodes || !t->order)
		return -ENOMEM;
	for (uint32_t handle = 1; handle <= spans_count(v->spans); handle++) {
		const struct span *span = spans_get(v->spans, handle);

		if (is_of_trace(v, span, trace_id) && t->all++ < SPANS_MAX)
			t->nodes[t->count++].span = span;
	}
	if (!t->count)
		return 0;
	qsort(t->nodes, t->count, sizeof(*t->nodes), by_start);
	find_parents(t);
	put_in_order(t);
	measure(v, t);
	return add_up_waits(v, t);
}

struct layout {
	size_t name; /* columns of it */
	enum column shown[COLUMN_COUNT];
	size_t count; /* of those shown */
	bool bar;
};

static struct layout lay_out(size_t width, bool waits)
{
	struct layout l = {0};
	size_t used = 0;

	for (enum column c = 0; c < COLUMN_COUNT; c++) {
		if (c == OFF_CPU && !waits)
			continue;
		if (used + columns[c].width + NAME_MIN > width)
			break;
		l.shown[l.count++] = c;
		used += columns[c].width;
	}
	l.bar = used + BAR_COLUMNS + 2 + NAME_MIN <= width;
	if (l.bar)
		used += BAR_COLUMNS + 2;
	l.name = width > used ? width - used : 1;
	if (l.name > NAME_MAX)
		l.name = NAME_MAX;
	return l;
}

static void paint_bar(const struct paint *p, const struct tree *t, const struct span *span,
		      uint64_t took_ns)
{
	double whole = (double)(t->end_ns - t->start_ns);
	double from = (double)(span->start_wall_ns - t->start_ns) / whole * BAR_COLUMNS;
	double to = from + (double)took_ns / whole * BAR_COLUMNS;
	size_t begin = (size_t)from, end = (size_t)(to + 0.5);

	if (begin >= BAR_COLUMNS)
		begin = BAR_COLUMNS - 1;
	if (end <= begin)
		end = begin + 1;
	paint_spaces(p, 2 + begin);
	for (size_t i = begin; i < end && i < BAR_COLUMNS; i++)
		paint_text(p, PAINT_PLAIN, BAR);
}

static bool is_looked_at(const struct report_view *v, const struct span *span)
{
	return span->resource < v->profile.resource_count && v->looked_at[span->resource];
}

static void paint_node(const struct paint *p, const struct report_view *v, const struct tree *t,
		       const struct node *node, const struct layout *l)
{
	const struct span *span = node->span;
	const char *name = report_view_string(v, span->name);
	uint64_t took_ns = report_view_took_ns(v, span);
	size_t indent = INDENT * node->depth;
	char number[COLUMN_COUNT][PAINT_NUMBER_MAX] = {""};

	if (indent > INDENT_MAX)
		indent = INDENT_MAX;
	if (indent > l->name / 2)
		indent = l->name / 2;
	paint_ms(took_ns, number[TOOK]);
	if (!span->ended)
		strncat(number[TOOK], "+", PAINT_NUMBER_MAX - strlen(number[TOOK]) - 1);
	paint_ms(span->value_ns, number[ON_CPU]);
	if (is_looked_at(v, span))
		paint_ms(t->off_cpu_ns[span->handle], number[OFF_CPU]);
	paint_ms(span->start_wall_ns - t->start_ns, number[STARTS]);
	paint_spaces(p, indent);
	paint_cell(p, PAINT_BOLD, *name ? name : "(no name)", l->name - indent, true);
	for (size_t i = 0; i < l->count; i++)
		paint_right(p, PAINT_PLAIN, number[l->shown[i]], columns[l->shown[i]].width);
	if (l->bar)
		paint_bar(p, t, span, took_ns);
	paint_end_line(p);
}

static void paint_tree(const struct paint *p, const struct report_view *v, const struct tree *t,
		       size_t lines_max)
{
	struct layout l = lay_out(p->columns, v->has_waits);
	char number[PAINT_NUMBER_MAX], left[64];

	paint_cell(p, PAINT_DIM, "span", l.name, true);
	for (size_t i = 0; i < l.count; i++)
		paint_right(p, PAINT_DIM, columns[l.shown[i]].title, columns[l.shown[i]].width);
	paint_end_line(p);
	for (size_t i = 0; i < t->order_count && i < lines_max; i++)
		paint_node(p, v, t, &t->nodes[t->order[i]], &l);
	if (t->all <= lines_max)
		return;
	snprintf(left, sizeof(left), "and %s more", paint_number(t->all - lines_max, number));
	paint_wrapped(p, PAINT_DIM, left, 0);
}

int trace_tree_paint(const struct paint *p, const struct report_view *v, const uint8_t trace_id[16],
		     size_t lines_max)
{
	struct tree tree = {0};
	int err = grow(v, trace_id, &tree);

	if (!err && tree.count)
		paint_tree(p, v, &tree, lines_max);
	free(tree.off_cpu_ns);
	free(tree.order);
	free(tree.nodes);
	return err;
}
