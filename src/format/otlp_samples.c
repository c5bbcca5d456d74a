/* SPDX-License-Identifier: Apache-2.0 */
/* One aggregated value per sample: rows that look alike on the wire are added up. */
#include "format/otlp_samples.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/handle_index.h"
#include "spans/spans.h"

static bool same_locations(const void *owner, uint32_t handle, const void *key)
{
	const struct profile_view *v = owner;
	const struct profile_stack *a = &v->stacks[handle], *b = key;

	return a->location_count == b->location_count &&
	       !memcmp(v->stack_locations + a->first_location,
		       v->stack_locations + b->first_location,
		       a->location_count * sizeof(*v->stack_locations));
}

/* For each stack the first one with the same locations, whether cut or not; 0 for the empty. */
static int find_equal_stacks(const struct profile_view *v, uint32_t *equal)
{
	struct handle_index index = {0};
	int err = 0;

	for (uint32_t i = 1; !err && i < v->stack_count; i++) {
		const struct profile_stack *stack = &v->stacks[i];
		uint64_t hash = handle_hash(v->stack_locations + stack->first_location,
					    stack->location_count * sizeof(*v->stack_locations));

		if (!stack->location_count)
			continue;
		equal[i] = handle_index_find(&index, hash, same_locations, v, stack);
		if (equal[i])
			continue;
		equal[i] = i;
		err = handle_index_add(&index, hash, i);
	}
	handle_index_close(&index);
	return err;
}

/* A span that a link can name: IDs of zeros are invalid (W3C Trace Context). */
static bool is_linked(const struct span *span, bool file)
{
	static const uint8_t zeros[16];

	return span && (span->sampled || file) &&
	       memcmp(span->trace_id, zeros, sizeof(span->trace_id)) &&
	       memcmp(span->span_id, zeros, sizeof(span->span_id));
}

static int compare(const void *left, const void *right)
{
	const struct otlp_sample *a = left, *b = right;

	if (a->resource != b->resource)
		return a->resource < b->resource ? -1 : 1;
	if (a->off_cpu != b->off_cpu)
		return (int)a->off_cpu - (int)b->off_cpu;
	if (a->stack != b->stack)
		return a->stack < b->stack ? -1 : 1;
	if (a->span != b->span)
		return a->span < b->span ? -1 : 1;
	return (int)a->truncated - (int)b->truncated;
}

static size_t add_up_equal(struct otlp_sample *rows, size_t count)
{
	size_t kept = 0;

	for (size_t i = 0; i < count; i++) {
		if (kept && !compare(&rows[kept - 1], &rows[i]))
			rows[kept - 1].count += rows[i].count;
		else
			rows[kept++] = rows[i];
	}
	return kept;
}

/* The profile that is collected from. */
struct collecting {
	const struct profile_view *view;
	const struct spans *spans;
	const uint32_t *equal;
	bool file;
};

static struct otlp_sample make(const struct collecting *c, const struct profile_sample *from)
{
	return (struct otlp_sample){
		.resource = from->resource,
		.stack = c->equal[from->stack],
		.truncated = c->file && c->view->stacks[from->stack].truncated,
		.span = is_linked(spans_get(c->spans, from->span), c->file) ? from->span : 0,
		.count = from->count,
	};
}

int otlp_samples_collect(struct arena *arena, const struct profile *p, bool file,
			 struct otlp_sample **samples, size_t *count)
{
	struct profile_view v;
	struct collecting c = {.view = &v, .spans = profile_get_spans(p), .file = file};
	struct otlp_sample *rows;
	uint32_t *equal;
	size_t rows_count = 0;
	int err;

	profile_get_view(p, &v);
	rows = arena_take_array(arena, v.sample_count + v.wait_count, sizeof(*rows));
	c.equal = equal = arena_take_array(arena, v.stack_count, sizeof(*equal));
	if (!rows || !equal)
		return -ENOMEM;
	err = find_equal_stacks(&v, equal);
	if (err)
		return err;
	for (size_t i = 1; i < v.sample_count; i++)
		if (v.samples[i].count)
			rows[rows_count++] = make(&c, &v.samples[i]);
	for (size_t i = 1; i < v.wait_count; i++) {
		const struct profile_wait *w = &v.waits[i];
		const struct profile_sample same = {w->stack, w->resource, w->span, w->ns};

		if (!w->ns)
			continue;
		rows[rows_count] = make(&c, &same);
		rows[rows_count++].off_cpu = true;
	}
	qsort(rows, rows_count, sizeof(*rows), compare);
	*samples = rows;
	*count = add_up_equal(rows, rows_count);
	return 0;
}
