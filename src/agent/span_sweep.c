/* SPDX-License-Identifier: Apache-2.0 */
/* Spans by process, read some hundred a call; an end is remembered as long as the span is stored.
 */
#include "agent/span_sweep.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "agent/binary_store.h"
#include "agent/pipeline.h"
#include "agent/targets.h"
#include "capture/capture.h"
#include "gobinary/gobinary.h"
#include "process/process.h"
#include "process/remote_pieces.h"
#include "process/span_memory.h"

#define SPANS_MAX      65536 /* of one sweep; the ends of those beyond it are not told */
#define BATCH	       128
#define SPAN_BYTES_MAX 1024
#define NAMES_MAX      64 /* of open spans, in one sweep */

/* IDs of spans, in ascending order once they are complete. */
struct told {
	uint64_t ids[SPANS_MAX];
	size_t count;
};

struct span_sweep {
	/*
	 * Of the last sweep, all that were stored then; of the one before, for an end may be told
	 * by the kernel side between reading its records and the sweep; and of this one.
	 */
	struct told *last, *before, *telling;
	struct capture_stored_span *spans;
	size_t count;
	uint8_t *bytes;		/* BATCH spans */
	uint64_t spans_started; /* as of the last sweep */
	uint64_t open_count;	/* of that sweep */
	unsigned names_left;	/* of open spans to be read in this sweep */
};

int span_sweep_open(struct span_sweep **out)
{
	struct span_sweep *s = calloc(1, sizeof(*s));

	*out = s;
	if (!s)
		return -ENOMEM;
	/* What is not needed of these is never touched. */
	s->last = calloc(1, sizeof(*s->last));
	s->before = calloc(1, sizeof(*s->before));
	s->telling = calloc(1, sizeof(*s->telling));
	s->spans = malloc(SPANS_MAX * sizeof(*s->spans));
	s->bytes = malloc((size_t)BATCH * SPAN_BYTES_MAX);
	if (s->last && s->before && s->telling && s->spans && s->bytes)
		return 0;
	span_sweep_close(s);
	*out = NULL;
	return -ENOMEM;
}

void span_sweep_close(struct span_sweep *s)
{
	if (!s)
		return;
	free(s->bytes);
	free(s->spans);
	free(s->telling);
	free(s->before);
	free(s->last);
	free(s);
}

uint64_t span_sweep_count_open(const struct span_sweep *s)
{
	return s->open_count;
}

static int by_id(const void *left, const void *right)
{
	uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;

	return a < b ? -1 : a > b;
}

static bool is_among(const struct told *told, uint64_t id)
{
	return bsearch(&id, told->ids, told->count, sizeof(id), by_id);
}

bool span_sweep_has_told(const struct span_sweep *s, const uint8_t span_id[8])
{
	uint64_t id;

	memcpy(&id, span_id, sizeof(id));
	return is_among(s->last, id) || is_among(s->before, id);
}

static void keep(void *context, const struct capture_stored_span *span)
{
	struct span_sweep *s = context;

	if (s->count < SPANS_MAX)
		s->spans[s->count++] = *span;
}

/* By process, then by ID: what a census found may be stored twice. */
static int by_generation_and_id(const void *left, const void *right)
{
	const struct capture_stored_span *a = left, *b = right;

	if (a->generation != b->generation)
		return a->generation < b->generation ? -1 : 1;
	return memcmp(a->span_id, b->span_id, sizeof(a->span_id));
}

static void sort(struct span_sweep *s)
{
	size_t kept = 0;

	qsort(s->spans, s->count, sizeof(*s->spans), by_generation_and_id);
	for (size_t i = 0; i < s->count; i++)
		if (!kept || by_generation_and_id(&s->spans[kept - 1], &s->spans[i]))
			s->spans[kept++] = s->spans[i];
	s->count = kept;
}

static void look_at(struct span_sweep *s, struct target *target, struct pipeline *pipeline,
		    const struct capture_stored_span *stored, const uint8_t *bytes)
{
	struct span_memory span;

	if (span_sweep_has_told(s, stored->span_id)) {
		memcpy(&s->telling->ids[s->telling->count++], stored->span_id, 8);
		return;
	}
	span_memory_decode(&gobinary_get_info(target->binary->go)->span, stored->address, bytes,
			   &span);
	if (memcmp(span.span_id, stored->span_id, sizeof(span.span_id)))
		return; /* the garbage collector was first */
	if (!span_memory_is_open(&span)) {
		memcpy(&s->telling->ids[s->telling->count++], stored->span_id, 8);
		pipeline_add_ended_memory(pipeline, target, &span);
		return;
	}
	s->open_count++;
	if (s->names_left) {
		s->names_left--;
		pipeline_see_open(pipeline, target, &span);
	}
}

/* Up to BATCH spans of one process. */
static void look_at_batch(struct span_sweep *s, struct target *target, struct pipeline *pipeline,
			  const struct capture_stored_span *spans, size_t count)
{
	size_t size = span_memory_size(&gobinary_get_info(target->binary->go)->span);
	struct remote_piece pieces[BATCH];

	for (size_t i = 0; i < count; i++)
		pieces[i] = (struct remote_piece){spans[i].address, s->bytes + i * SPAN_BYTES_MAX,
						  size, false};
	if (remote_pieces_read(target->process, pieces, count))
		return;
	for (size_t i = 0; i < count; i++)
		if (pieces[i].read || span_sweep_has_told(s, spans[i].span_id))
			look_at(s, target, pipeline, &spans[i], s->bytes + i * SPAN_BYTES_MAX);
}

/* What was told in this sweep, or before and is still stored, is what is remembered. */
static void remember(struct span_sweep *s)
{
	struct told *oldest = s->before;

	qsort(s->telling->ids, s->telling->count, sizeof(*s->telling->ids), by_id);
	s->before = s->last;
	s->last = s->telling;
	s->telling = oldest;
	s->telling->count = 0;
}

void span_sweep_run(struct span_sweep *s, struct capture *capture, struct targets *targets,
		    struct pipeline *pipeline)
{
	struct target_counters counters;
	struct target *target = NULL;
	size_t end;

	capture_get_counters(capture, &counters);
	if (counters.events[EVENT_SPANS_STARTED] == s->spans_started && !s->open_count)
		return;
	s->spans_started = counters.events[EVENT_SPANS_STARTED];
	s->open_count = 0;
	s->names_left = NAMES_MAX;
	s->count = 0;
	if (capture_each_span(capture, keep, s))
		return;
	sort(s);
	for (size_t at = 0; at < s->count; at = end) {
		uint32_t generation = s->spans[at].generation;

		for (end = at;
		     end < s->count && end - at < BATCH && s->spans[end].generation == generation;)
			end++;
		if (!target || target->generation != generation)
			target = targets_find_generation(targets, generation);
		if (target)
			look_at_batch(s, target, pipeline, s->spans + at, end - at);
	}
	remember(s);
}
