/* SPDX-License-Identifier: Apache-2.0 */
/* What the kernel side tells of spans, in a sample or after their end → what the spans stage takes.
 */
#ifndef AGENT_SPAN_SIGHTS_H
#define AGENT_SPAN_SIGHTS_H

#include <stdbool.h>

#include "spans/spans.h"

#define SPAN_SIGHT_NAME_MAX 256

struct sample_record;
struct span_memory;
struct span_record;
struct target;
struct unwound_stack;

enum span_answer {
	SPAN_ANSWER_NONE,      /* the sample belongs to no span that is known */
	SPAN_ANSWER_SPAN,      /* sight is filled in, but for resource and value */
	SPAN_ANSWER_UNSAMPLED, /* to one that is sampled out */
	SPAN_ANSWER_UNSETTLED, /* maybe to one: its memory cannot be read from here either */
};

/* Which span a sample belongs to, and how that is known. */
struct sampled_span {
	enum span_answer answer;
	uint8_t source;		/* enum span_source */
	uint64_t address;	/* of the recordingSpan; 0 not known */
	bool direct;		/* the stack holds the span itself, as who is to end it does */
	uint64_t start_wall_ns; /* of one that is found on the stack, else 0 */
	struct span_sight sight;
	char name[SPAN_SIGHT_NAME_MAX]; /* lent to the sight */
};

/*
 * Where the kernel side could not read a span's memory, a second look decides by the time of its
 * end. Of those that the goroutine's stack leads to, the one nearest to the leaf counts whose word
 * is in use; `stack` is the sample's, unwound.
 */
void span_sight_of_sample(const struct target *target, const struct sample_record *sample,
			  const struct unwound_stack *stack, struct sampled_span *out);
/*
 * The end of a span, read from memory or as the kernel side tells it. `name` has
 * SPAN_SIGHT_NAME_MAX bytes, lent to the end; the resource is left out. False: its memory is not
 * whole any more.
 */
bool span_end_of_memory(const struct target *target, const struct span_memory *span, char *name,
			struct span_end *end);
/* The same for a span that is open: without an end. False: it cannot be one. */
bool span_open_of_memory(const struct target *target, const struct span_memory *span,
			 uint64_t now_wall_ns, char *name, struct span_end *is);
bool span_end_of_record(const struct target *target, const struct span_record *record, char *name,
			struct span_end *end);

#endif
