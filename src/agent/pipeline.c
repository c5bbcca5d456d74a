/* SPDX-License-Identifier: Apache-2.0 */
/* One sample at a time on the loop's thread; a window is a profile of its own. */
#include "agent/pipeline.h"

#include <errno.h>
#include <spanprof/record.h>
#include <stdlib.h>
#include <string.h>

#include "agent/binary_store.h"
#include "agent/held_samples.h"
#include "agent/name_trust.h"
#include "agent/sample_log.h"
#include "agent/span_sights.h"
#include "agent/target_identity.h"
#include "agent/targets.h"
#include "agent/wait_state.h"
#include "base/clock.h"
#include "capture/capture.h"
#include "process/process.h"
#include "process/span_memory.h"
#include "profile/profile.h"
#include "spans/spans.h"
#include "symbolize/symbolize.h"
#include "waiting/waiting.h"

#define HELD_BYTES_MAX	   (4 << 20)
#define WINDOW_SAMPLES_MAX 65536
#define WINDOW_SPANS_MAX   65536
#define WINDOW_STRINGS_MAX (16 << 20)
#define GAP		   "[frames left out]"
#define NAME_LASTS_NS	   10000000ull /* a collection seldom ends and gives memory away so soon */

struct pipeline {
	struct pipeline_config config;
	struct profile *window;
	uint64_t window_number; /* never 0 */
	struct held_samples *held;
	struct name_trust *names;
	struct target *releasing;
	struct unwound_stack stack;
	const struct location *locations[UNWIND_FRAMES_MAX + 2]; /* a state above, a gap between */
	struct pipeline_stats stats;
};

static int open_window(struct pipeline *p)
{
	struct profile_config config = {
		.period_ns = p->config.period_ns,
		.samples_max = WINDOW_SAMPLES_MAX,
		.strings_bytes_max = WINDOW_STRINGS_MAX,
		.spans_max = WINDOW_SPANS_MAX,
	};

	p->window_number++;
	return profile_open(&config, clock_wall_ns(), &p->window);
}

int pipeline_open(const struct pipeline_config *config, struct pipeline **out)
{
	struct pipeline *p = calloc(1, sizeof(*p));
	int error;

	*out = NULL;
	if (!p)
		return -ENOMEM;
	p->config = *config;
	error = held_samples_open(HELD_BYTES_MAX, &p->held);
	if (!error)
		error = name_trust_open(&p->names);
	if (!error)
		error = open_window(p);
	if (error)
		pipeline_close(p);
	else
		*out = p;
	return error;
}

void pipeline_close(struct pipeline *p)
{
	if (!p)
		return;
	name_trust_close(p->names);
	held_samples_close(p->held);
	profile_close(p->window);
	free(p);
}

static uint32_t resource_of(struct pipeline *p, struct target *target)
{
	if (target->window != p->window_number) {
		target->resource = target_identity_add(p->window, &target->identity);
		target->window = p->window_number;
	}
	return target->resource;
}

void pipeline_rename(struct pipeline *p, const struct identity *was, const struct identity *is)
{
	target_identity_rename(p->window, was, is);
}

static uint32_t span_of(struct pipeline *p, struct target *target, const struct sampled_span *span,
			uint32_t resource)
{
	struct span_sight sight = span->sight;
	uint32_t handle;

	switch (span->answer) {
	case SPAN_ANSWER_SPAN:
		break;
	case SPAN_ANSWER_UNSAMPLED:
		p->stats.unsampled++;
		return PROFILE_SPAN_UNSAMPLED;
	case SPAN_ANSWER_UNSETTLED:
		p->stats.span_unsettled++;
		return 0;
	case SPAN_ANSWER_NONE:
		return 0;
	}
	target_see_span(target, span->address);
	name_trust_add(p->names, target->generation, sight.name, sight.name_size);
	if (!sight.waits && span->source < SPAN_SOURCE_COUNT)
		p->stats.by_source[span->source]++;
	sight.resource = resource;
	sight.value_ns = p->config.period_ns;
	handle = spans_add(profile_get_spans(p->window), &sight);
	return handle ? handle : PROFILE_SPAN_LOST;
}

static size_t find_locations(struct pipeline *p, const struct target *target)
{
	const struct unwound_stack *stack = &p->stack;
	size_t count = 0;

	if (symbolizer_is_full(p->config.symbolizer)) {
		symbolizer_reset(p->config.symbolizer);
		profile_forget_locations(p->window);
	}
	for (uint32_t i = 0; i < stack->count; i++) {
		const struct location *location;

		if (i && i == stack->gap_at) {
			location = symbolizer_find_state(p->config.symbolizer, GAP);
			if (location)
				p->locations[count++] = location;
		}
		location = symbolizer_find(p->config.symbolizer, target->generation, stack->pcs[i],
					   stack->exact[i], i < stack->kernel_count);

		if (location && (location->frame_count || location->kind != FRAME_GO))
			p->locations[count++] = location;
	}
	return count;
}

/*
 * A goroutine that ran when the census was taken shows now that it holds a span: from here on it is
 * known to the kernel side, so that children inherit it. (Who has but a context works for its span
 * only as long as the stack shows it.) A younger span should have been seen to start.
 */
static void tell_older(struct pipeline *p, struct target *target,
		       const struct sample_record *sample, const struct sampled_span *span)
{
	struct capture_older_span older = {.address = span->address};

	if (span->answer != SPAN_ANSWER_SPAN || span->source != SPAN_ON_STACK || !span->direct ||
	    !p->config.capture)
		return;
	if (span->start_wall_ns >= target->probed_wall_ns) {
		target->unseen_spans += target->last_unseen != span->address;
		target->last_unseen = span->address;
		return;
	}
	memcpy(older.span_id, span->sight.span_id, sizeof(older.span_id));
	(void)capture_push_older(p->config.capture, target->generation, sample->g, sample->goid,
				 &older);
}

void pipeline_add(struct pipeline *p, struct target *target, const struct sample_record *sample)
{
	struct sample_input input = {.locations = p->locations, .count = 1};
	struct sampled_span span;

	unwind_sample(sample, target->binary->go, target->bias, &p->stack, &p->stats.unwind);
	input.location_count = find_locations(p, target);
	input.truncated = p->stack.truncated;
	input.resource = resource_of(p, target);
	span_sight_of_sample(target, sample, &p->stack, &span);
	input.span = span_of(p, target, &span, input.resource);
	tell_older(p, target, sample, &span);
	profile_add(p->window, &input);
	p->stats.samples++;
	if (p->config.sample_log)
		sample_log_add(p->config.sample_log, sample, &span, p->locations,
			       input.location_count, input.truncated);
}

/* Under its state, what called into the runtime: how that parks a goroutine is no news. */
static size_t find_wait_locations(struct pipeline *p, const struct target *target,
				  const struct waiting_record *record)
{
	char name[WAIT_STATE_SIZE];
	size_t hidden = 0, count;

	wait_state_name(target->binary->go, record, name);
	count = find_locations(p, target);
	if (record->state == WAITING_PARKED)
		while (hidden + 1 < count && wait_state_hides(p->locations[hidden]))
			hidden++;
	memmove(p->locations + 1, p->locations + hidden, (count - hidden) * sizeof(*p->locations));
	p->locations[0] = symbolizer_find_state(p->config.symbolizer, name);
	return p->locations[0] ? count - hidden + 1 : 0;
}

/* The runtime's own goroutines are never shown, as in its own profiles. */
static bool is_wanted_outside(const struct pipeline *p, const struct sampled_span *span,
			      size_t location_count)
{
	/* The first location is the state. */
	return p->config.waits_outside && span->answer != SPAN_ANSWER_UNSETTLED && location_count &&
	       !wait_state_is_system(p->locations + 1, location_count - 1);
}

void pipeline_add_wait(struct pipeline *p, struct target *target,
		       const struct waiting_record *record)
{
	struct sample_input input = {.locations = p->locations};
	struct sampled_span span;

	p->stack.count = p->stack.kernel_count = 0;
	p->stack.truncated = false;
	if (record->sample.curg_pc) /* else it ran, and nobody knows where */
		unwind_sample(&record->sample, target->binary->go, target->bias, &p->stack,
			      &p->stats.unwind);
	input.location_count = find_wait_locations(p, target, record);
	input.truncated = p->stack.truncated;
	span_sight_of_sample(target, &record->sample, &p->stack, &span);
	p->stats.waits++;
	if (span.answer != SPAN_ANSWER_SPAN && !is_wanted_outside(p, &span, input.location_count)) {
		p->stats.waits_unsettled_ns += record->duration_ns;
		return;
	}
	input.resource = resource_of(p, target);
	span.sight.waits = true;
	if (span.answer == SPAN_ANSWER_SPAN)
		input.span = span_of(p, target, &span, input.resource);
	profile_add_wait(p->window, &input, wait_state_kind(record->state), record->duration_ns);
}

void pipeline_set_look_interval(struct pipeline *p, uint64_t ns)
{
	profile_set_look_interval(p->window, ns);
}

/*
 * Whether the name read of a span that ended so long ago is one. What does not lie in the heap, as
 * the span does, is a constant of the program.
 */
static bool believe_name(struct pipeline *p, const struct target *target,
			 const struct span_end *end, uint64_t name_address, uint64_t span_address,
			 uint64_t ago_ns)
{
	if (name_address && (name_address ^ span_address) >> TARGET_ARENA_BITS)
		return true;
	return name_trust_believe(p->names, target->generation, end->name, end->name_size,
				  name_address, ago_ns <= NAME_LASTS_NS);
}

static uint64_t since(const struct span_end *end, uint64_t monotonic_ns)
{
	uint64_t end_ns = end->span.start_wall_ns + end->span.duration_ns;
	uint64_t then_ns = clock_wall_ns() - (clock_monotonic_ns() - monotonic_ns);

	return then_ns > end_ns ? then_ns - end_ns : 0;
}

static void add_end(struct pipeline *p, struct target *target, struct span_end *end, bool believed)
{
	if (!believed) {
		end->name_size = 0;
		p->stats.names_unsure++;
	}
	end->span.resource = resource_of(p, target);
	spans_end(profile_get_spans(p->window), end, p->config.keep_ended_spans);
	p->stats.spans_ended++;
	if (p->config.sample_log)
		sample_log_add_ended(p->config.sample_log, (uint32_t)target->pid, end);
}

void pipeline_add_ended(struct pipeline *p, struct target *target, const struct span_record *record)
{
	char name[SPAN_SIGHT_NAME_MAX];
	struct span_end end;

	if (!span_end_of_record(target, record, name, &end))
		return;
	target_see_span(target, record->address);
	add_end(p, target, &end,
		believe_name(p, target, &end, record->name_address, record->address,
			     since(&end, record->time_ns)));
}

void pipeline_add_ended_memory(struct pipeline *p, struct target *target,
			       const struct span_memory *span)
{
	char name[SPAN_SIGHT_NAME_MAX];
	struct span_end end;

	if (!span_end_of_memory(target, span, name, &end))
		return;
	target_see_span(target, span->address);
	add_end(p, target, &end,
		believe_name(p, target, &end, span->name_address, span->address,
			     since(&end, clock_monotonic_ns())));
}

void pipeline_see_open(struct pipeline *p, struct target *target, const struct span_memory *span)
{
	char name[SPAN_SIGHT_NAME_MAX];
	uint64_t now_ns = clock_wall_ns();
	struct span_end is;

	if (!span_open_of_memory(target, span, now_ns, name, &is))
		return;
	target_see_span(target, span->address);
	name_trust_add(p->names, target->generation, is.name, is.name_size);
	is.span.resource = resource_of(p, target);
	spans_see_open(profile_get_spans(p->window), &is, now_ns, p->config.keep_ended_spans);
}

void pipeline_hold(struct pipeline *p, const struct sample_record *sample)
{
	if (held_samples_add(p->held, sample))
		p->stats.without_image++;
}

static void release_one(void *context, const struct sample_record *sample)
{
	struct pipeline *p = context;

	pipeline_add(p, p->releasing, sample);
}

void pipeline_release(struct pipeline *p, struct target *target)
{
	p->releasing = target;
	held_samples_take(p->held, target->pid, release_one, p);
	p->releasing = NULL;
}

void pipeline_discard(struct pipeline *p, uint32_t pid)
{
	held_samples_take(p->held, pid, NULL, NULL);
}

void pipeline_lose(struct pipeline *p, uint32_t pid)
{
	p->stats.without_image += held_samples_take(p->held, pid, NULL, NULL);
}

void pipeline_lose_all(struct pipeline *p)
{
	p->stats.without_image += held_samples_forget(p->held);
}

struct profile *pipeline_take(struct pipeline *p)
{
	struct profile *ended = p->window;

	profile_set_end(ended, clock_wall_ns());
	if (!open_window(p))
		return ended;
	p->window = ended; /* no memory for another: this one goes on */
	return NULL;
}

const struct profile *pipeline_get(const struct pipeline *p)
{
	return p->window;
}

void pipeline_get_stats(const struct pipeline *p, struct pipeline_stats *out)
{
	*out = p->stats;
}
