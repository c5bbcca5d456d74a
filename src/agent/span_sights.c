/* SPDX-License-Identifier: Apache-2.0 */
/* Names are read late where they are long; labels are text that anybody may have set. */
#include "agent/span_sights.h"

#include <errno.h>
#include <spanprof/record.h>
#include <string.h>

#include "agent/binary_store.h"
#include "agent/targets.h"
#include "base/clock.h"
#include "base/decimal.h"
#include "base/hex.h"
#include "gobinary/gobinary.h"
#include "gobinary/pclntab.h"
#include "process/process.h"
#include "process/span_memory.h"
#include "unwind/live_words.h"

#define TRACE_FLAG_SAMPLED 1

/* The name as the kernel side saw it; its rest is read now, when what lies there begins alike. */
static size_t read_name(const struct target *target, uint64_t address, uint32_t size,
			const char *seen, uint8_t seen_size, char *name)
{
	size_t wanted = size < SPAN_SIGHT_NAME_MAX ? size : SPAN_SIGHT_NAME_MAX;
	size_t copied = seen_size < RECORD_SPAN_NAME_MAX ? seen_size : RECORD_SPAN_NAME_MAX;

	if (wanted > copied && !process_read_memory(target->process, address, name, wanted) &&
	    (!copied ||
	     !memcmp(name, seen, copied))) /* else the span is over, its memory another's */
		return wanted;
	if (copied)
		memcpy(name, seen, copied);
	return copied;
}

/* Labels and another tool's map may hold anything; no span's ID is zero. */
static bool has_id(const uint8_t span_id[8])
{
	static const uint8_t none[8];

	return memcmp(span_id, none, sizeof(none));
}

/* A label without a trace ID names a span all the same; it can only not be linked. */
static enum span_answer of_labels(const struct sample_record *sample, struct sampled_span *out)
{
	struct span_sight *sight = &out->sight;
	struct label_values v;

	memcpy(&v, sample->span.name, sizeof(v));
	if (v.span_id_size > sizeof(v.span_id) || v.trace_id_size > sizeof(v.trace_id) ||
	    v.span_name_size > sizeof(v.span_name))
		return SPAN_ANSWER_NONE;
	if (v.decimal ? !decimal_read(v.span_id, v.span_id_size, sight->span_id)
		      : !hex_read(v.span_id, v.span_id_size, sight->span_id, 8))
		return SPAN_ANSWER_NONE;
	if (!has_id(sight->span_id))
		return SPAN_ANSWER_NONE;
	sight->sampled = !v.decimal && hex_read(v.trace_id, v.trace_id_size, sight->trace_id, 16);
	if (!sight->sampled)
		memset(sight->trace_id, 0, sizeof(sight->trace_id));
	memcpy(out->name, v.span_name, v.span_name_size);
	sight->name_size = v.span_name_size;
	return SPAN_ANSWER_SPAN;
}

static void set_ids(struct span_sight *sight, const uint8_t trace_id[16], const uint8_t span_id[8],
		    uint8_t trace_flags)
{
	memcpy(sight->trace_id, trace_id, sizeof(sight->trace_id));
	memcpy(sight->span_id, span_id, sizeof(sight->span_id));
	sight->sampled = trace_flags & TRACE_FLAG_SAMPLED;
}

/* Sample times are of the monotonic clock, span times of the wall clock. */
static bool was_open_at(const struct span_memory *span, uint64_t monotonic_ns)
{
	uint64_t ago_ns = clock_monotonic_ns() - monotonic_ns;

	return span_memory_is_open(span) || go_time_wall_ns(span->end) > clock_wall_ns() - ago_ns;
}

static enum span_answer settle(const struct target *target, const struct sample_record *sample,
			       struct sampled_span *out)
{
	const struct go_span_offsets *at = &gobinary_get_info(target->binary->go)->span;
	struct span_memory span;
	int error = span_memory_read(target->process, at, sample->span.address, &span);

	if (error == -ENOENT)
		return SPAN_ANSWER_NONE; /* its memory is another's: it has ended long ago */
	if (error)
		return SPAN_ANSWER_UNSETTLED;
	if (memcmp(span.span_id, sample->span.span_id, sizeof(span.span_id)) ||
	    !was_open_at(&span, sample->time_ns))
		return SPAN_ANSWER_NONE;
	out->address = span.address;
	set_ids(&out->sight, span.trace_id, span.span_id, span.trace_flags);
	out->sight.name_size = span_memory_read_name(target->process, &span, out->name);
	return SPAN_ANSWER_SPAN;
}

/* Behind the words of the stacks; NULL: none, or the record is cut. */
static const struct span_candidate *candidates_of(const struct sample_record *sample)
{
	size_t words = sample_stack_words(sample);
	size_t bytes = sizeof(*sample) + words * sizeof(*sample->words) +
		       sample->candidate_count * sizeof(struct span_candidate);

	if (!sample->candidate_count || bytes > sample->header.size_bytes)
		return NULL;
	return (const struct span_candidate *)(sample->words + words);
}

static bool is_plausible(const struct span_candidate *c, const struct sample_record *sample)
{
	struct span_memory span = {
		.start = {c->start[0], c->start[1]},
		.name_address = c->name_address,
		.name_size = c->name_size,
	};

	memcpy(span.trace_id, c->trace_id, sizeof(span.trace_id));
	memcpy(span.span_id, c->span_id, sizeof(span.span_id));
	return !c->address ||
	       span_memory_is_plausible(&span,
					clock_wall_ns() - (clock_monotonic_ns() - sample->time_ns));
}

static uint64_t start_of(const struct span_candidate *c)
{
	return go_time_wall_ns((struct go_time){c->start[0], c->start[1]});
}

/*
 * Of a frame's words those whose address is taken do not show as used: one that leads to an open
 * child of the chosen span tells that the work is the child's. So does one in use: when spans began
 * programs may set as they like.
 */
static const struct span_candidate *descend(const struct span_candidate *c, size_t count,
					    uint64_t limit, const struct span_candidate *chosen)
{
	for (size_t round = 0; round < count; round++) {
		const struct span_candidate *from = chosen;

		for (size_t i = 0; i < count && c[i].slot < limit; i++)
			if (c[i].address &&
			    !memcmp(c[i].parent_id, chosen->span_id, sizeof(chosen->span_id)))
				chosen = &c[i];
		if (chosen == from)
			break;
	}
	return chosen;
}

/*
 * Whether a deferred function is to be called with it, in the frame at hand: such a function is a
 * variable of its own. (Others that were deferred once lie about.)
 */
static bool is_deferred(const struct target *target, const struct live_words *words,
			const struct span_candidate *c)
{
	return c->code &&
	       pclntab_begins_at(gobinary_get_pclntab(target->binary->go),
				 c->code - target->bias) &&
	       live_words_has_object(words, c->slot - 16);
}

/*
 * The candidate that counts: of the frame nearest to the leaf that has any in use, the one that
 * began last; what is sampled out does not say when, and wins. NULL: none is in use.
 */
static const struct span_candidate *choose(const struct target *target,
					   const struct sample_record *sample,
					   const struct unwound_stack *stack)
{
	const struct span_candidate *c = candidates_of(sample), *chosen = NULL;
	struct live_words words;
	uint64_t limit = 0;

	live_words_begin(&words, target->binary->go, target->bias, stack);
	for (size_t i = 0; c && i < sample->candidate_count; i++) {
		bool used = live_words_has(&words, c[i].slot) || is_deferred(target, &words, &c[i]);

		if (!used || !is_plausible(&c[i], sample))
			continue;
		if (chosen && words.limit != limit)
			break;
		limit = words.limit;
		if (!chosen ||
		    (chosen->address && (!c[i].address || start_of(&c[i]) > start_of(chosen))))
			chosen = &c[i];
	}
	return chosen && chosen->address ? descend(c, sample->candidate_count, limit, chosen)
					 : chosen;
}

/* Whether the span that counts was begun, by whatever others, under that one. */
static bool descends(const struct span_candidate *c, size_t count,
		     const struct span_candidate *chosen, const uint8_t span_id[8])
{
	for (size_t round = 0; chosen && round <= count; round++) {
		const struct span_candidate *parent = NULL;

		if (!memcmp(chosen->parent_id, span_id, sizeof(chosen->parent_id)))
			return true;
		for (size_t i = 0; i < count && !parent; i++)
			if (c[i].address &&
			    !memcmp(c[i].span_id, chosen->parent_id, sizeof(c[i].span_id)))
				parent = &c[i];
		chosen = parent;
	}
	return false;
}

/*
 * The span of the stack, where the store has none, or but an older one and the stack shows what was
 * begun under it unseen.
 */
static enum span_answer of_candidates(const struct target *target,
				      const struct sample_record *sample,
				      const struct unwound_stack *stack, struct sampled_span *out)
{
	const struct span_candidate *c = choose(target, sample, stack);

	if (!c || (sample->flags & SAMPLE_SPAN && sample->span.source == SPAN_OLDER &&
		   !(c->address && descends(candidates_of(sample), sample->candidate_count, c,
					    sample->span.span_id))))
		return SPAN_ANSWER_NONE;
	if (!c->address)
		return SPAN_ANSWER_UNSAMPLED;
	out->source = SPAN_ON_STACK;
	out->address = c->address;
	out->direct = c->direct;
	out->start_wall_ns = start_of(c);
	set_ids(&out->sight, c->trace_id, c->span_id, c->trace_flags);
	out->sight.name_size = read_name(target, c->name_address, c->name_size, NULL, 0, out->name);
	return SPAN_ANSWER_SPAN;
}

static enum span_answer of_record(const struct target *target, const struct sample_record *sample,
				  struct sampled_span *out)
{
	const struct sample_span *span = &sample->span;

	out->source = span->source;
	if (span->source == SPAN_LABELS)
		return of_labels(sample, out);
	out->address = span->address;
	out->sight.name_size = read_name(target, span->name_address, span->name_size, span->name,
					 span->name_copied, out->name);
	set_ids(&out->sight, span->trace_id, span->span_id, span->trace_flags);
	return has_id(out->sight.span_id) ? SPAN_ANSWER_SPAN : SPAN_ANSWER_NONE;
}

void span_sight_of_sample(const struct target *target, const struct sample_record *sample,
			  const struct unwound_stack *stack, struct sampled_span *out)
{
	memset(out, 0, sizeof(*out));
	out->sight.name = out->name;
	out->sight.time_ns = sample->time_ns;
	out->source = sample->span.source;
	if (sample->flags & SAMPLE_UNSAMPLED)
		out->answer = SPAN_ANSWER_UNSAMPLED;
	else if (sample->flags & SAMPLE_SPAN_UNREADABLE)
		out->answer = settle(target, sample, out);
	else
		out->answer = of_candidates(target, sample, stack, out);
	if (out->answer == SPAN_ANSWER_NONE && sample->flags & SAMPLE_SPAN)
		out->answer = of_record(target, sample, out);
}

static void fill_end(const struct span_memory *span, struct span_end *end)
{
	memset(end, 0, sizeof(*end));
	memcpy(end->span.trace_id, span->trace_id, sizeof(end->span.trace_id));
	memcpy(end->span.span_id, span->span_id, sizeof(end->span.span_id));
	memcpy(end->span.parent_id, span->parent_id, sizeof(end->span.parent_id));
	end->span.sampled = span->trace_flags & TRACE_FLAG_SAMPLED;
	end->span.status = span->status;
	end->span.kind = span->kind;
	end->span.start_wall_ns = go_time_wall_ns(span->start);
	if (!span_memory_is_open(span))
		end->span.duration_ns = go_time_between_ns(span->start, span->end);
}

bool span_open_of_memory(const struct target *target, const struct span_memory *span,
			 uint64_t now_wall_ns, char *name, struct span_end *is)
{
	if (!span_memory_is_plausible(span, now_wall_ns))
		return false;
	fill_end(span, is);
	is->name = name;
	is->name_size = span_memory_read_name(target->process, span, name);
	return true;
}

bool span_end_of_memory(const struct target *target, const struct span_memory *span, char *name,
			struct span_end *end)
{
	if (!span_memory_is_whole(span))
		return false;
	fill_end(span, end);
	end->name = name;
	end->name_size = span_memory_read_name(target->process, span, name);
	return true;
}

bool span_end_of_record(const struct target *target, const struct span_record *record, char *name,
			struct span_end *end)
{
	struct span_memory span = {
		.trace_flags = record->trace_flags,
		.status = record->status,
		.kind = record->kind,
		.start = {record->start[0], record->start[1]},
		.end = {record->end[0], record->end[1]},
		.name_address = record->name_address,
		.name_size = record->name_size,
	};

	memcpy(span.trace_id, record->trace_id, sizeof(span.trace_id));
	memcpy(span.span_id, record->span_id, sizeof(span.span_id));
	memcpy(span.parent_id, record->parent_id, sizeof(span.parent_id));
	if (!span_memory_is_whole(&span))
		return false;
	fill_end(&span, end);
	end->name = name;
	end->name_size = read_name(target, record->name_address, record->name_size, record->name,
				   record->name_copied, name);
	return true;
}
