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
#include "base/clock.h"
#include "capture/capture.h"
#include "gobinary/gobinary.h"
#include "process/process.h"
#include "process/remote_pieces.h"
#include "process/span_memory.h"

#define SPANS_MAX      65536 /* of one sweep; the ends of those beyond it are not told */
#define BATCH	       128
#define SPAN_BYTES_MAX 1024
#define NAMES_MAX      64 /* of open spans, in one sweep */
#define SHORTEST_NS    10000000ull
#define LATE_LASTS_NS  1000000000ull

/* IDs of spans, in ascending order once they are complete. */
struct id_set {
	uint64_t ids[SPANS_MAX];
	size_t count;
};

struct span_sweep {
	/*
	 * Of the last sweep, all that were stored then; of the one before, for an end may be told
	 * by the kernel side between reading its records and the sweep; and of this one.
	 */
	struct id_set *last, *before, *telling;
	/* Whose memory was used again before a sweep: as of the last one, and of this one. */
	struct id_set *gone, *going;
	struct capture_stored_span *spans;
	size_t count;
	uint8_t *bytes;		/* BATCH spans */
	uint64_t spans_started; /* as of the last sweep */
	uint64_t open_count;	/* of that sweep */
	bool is_late;		/* in this sweep some were gone that were not before */
	uint64_t late_ns;	/* monotonic; the last time; 0 never */
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
	s->gone = calloc(1, sizeof(*s->gone));
	s->going = calloc(1, sizeof(*s->going));
	s->spans = malloc(SPANS_MAX * sizeof(*s->spans));
	s->bytes = malloc((size_t)BATCH * SPAN_BYTES_MAX);
	if (s->last && s->before && s->telling && s->gone && s->going && s->spans && s->bytes)
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
	free(s->going);
	free(s->gone);
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

static bool is_among(const struct id_set *set, const uint8_t span_id[8])
{
	uint64_t id;

	memcpy(&id, span_id, sizeof(id));
	return bsearch(&id, set->ids, set->count, sizeof(id), by_id);
}

bool span_sweep_has_told(const struct span_sweep *s, const uint8_t span_id[8])
{
	return is_among(s->last, span_id) || is_among(s->before, span_id);
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

static void add(struct id_set *set, const struct capture_stored_span *span)
{
	memcpy(&set->ids[set->count++], span->span_id, sizeof(*set->ids));
}

/* Without those that were told of or are gone: they stay so, unread. */
static void leave_out_known(struct span_sweep *s)
{
	size_t kept = 0;

	for (size_t i = 0; i < s->count; i++) {
		const struct capture_stored_span *span = &s->spans[i];

		if (is_among(s->last, span->span_id))
			add(s->telling, span);
		else if (is_among(s->gone, span->span_id))
			add(s->going, span);
		else
			s->spans[kept++] = *span;
	}
	s->count = kept;
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

	span_memory_decode(&gobinary_get_info(target->binary->go)->span, stored->address, bytes,
			   &span);
	if (memcmp(span.span_id, stored->span_id, sizeof(span.span_id))) {
		add(s->going, stored); /* the garbage collector was first */
		s->is_late = true;
		return;
	}
	if (!span_memory_is_open(&span)) {
		add(s->telling, stored);
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
		if (pieces[i].read)
			look_at(s, target, pipeline, &spans[i], s->bytes + i * SPAN_BYTES_MAX);
}

static void complete(struct id_set *set)
{
	qsort(set->ids, set->count, sizeof(*set->ids), by_id);
}

/* What was told in this sweep, or before and is still stored, is what is remembered. */
static void remember(struct span_sweep *s)
{
	struct id_set *oldest = s->before, *not_gone_now = s->gone;

	complete(s->telling);
	s->before = s->last;
	s->last = s->telling;
	s->telling = oldest;
	s->telling->count = 0;
	complete(s->going);
	s->gone = s->going;
	s->going = not_gone_now;
	s->going->count = 0;
}

static void look_at_all(struct span_sweep *s, struct targets *targets, struct pipeline *pipeline)
{
	struct target *target;
	size_t end;

	for (size_t at = 0; at < s->count; at = end) {
		uint32_t generation = s->spans[at].generation;

		for (end = at;
		     end < s->count && end - at < BATCH && s->spans[end].generation == generation;)
			end++;
		target = targets_find_generation(targets, generation);
		if (target)
			look_at_batch(s, target, pipeline, s->spans + at, end - at);
	}
}

/* At most a 32nd of a CPU is spent on it beyond what it takes in any case. */
static uint64_t time_to_next(struct span_sweep *s, uint64_t began_cpu_ns)
{
	uint64_t interval_ns = 32 * (clock_thread_cpu_ns() - began_cpu_ns);
	uint64_t now_ns = clock_monotonic_ns();

	if (s->is_late)
		s->late_ns = now_ns;
	if (!s->late_ns || now_ns - s->late_ns > LATE_LASTS_NS || interval_ns > SPAN_SWEEP_NS)
		return SPAN_SWEEP_NS;
	return interval_ns > SHORTEST_NS ? interval_ns : SHORTEST_NS;
}

uint64_t span_sweep_run(struct span_sweep *s, struct capture *capture, struct targets *targets,
			struct pipeline *pipeline)
{
	uint64_t began_cpu_ns = clock_thread_cpu_ns();
	struct target_counters counters;

	capture_get_counters(capture, &counters);
	if (counters.events[EVENT_SPANS_STARTED] == s->spans_started && !s->open_count)
		return SPAN_SWEEP_NS;
	s->spans_started = counters.events[EVENT_SPANS_STARTED];
	s->open_count = 0;
	s->names_left = NAMES_MAX;
	s->count = 0;
	s->is_late = false;
	if (capture_each_span(capture, keep, s))
		return SPAN_SWEEP_NS;
	leave_out_known(s);
	sort(s);
	look_at_all(s, targets, pipeline);
	remember(s);
	return time_to_next(s, began_cpu_ns);
}
