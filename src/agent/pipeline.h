/* SPDX-License-Identifier: Apache-2.0 */
/* The way of a sample: unwind, symbolize, add to the window's profile. */
#ifndef AGENT_PIPELINE_H
#define AGENT_PIPELINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <spanprof/record.h>

#include "unwind/unwind.h"

struct capture;
struct identity;
struct pipeline;
struct profile;
struct sample_log;
struct sample_record;
struct span_memory;
struct span_record;
struct symbolizer;
struct target;
struct waiting_record;

struct pipeline_config {
	struct symbolizer *symbolizer; /* lent */
	struct sample_log *sample_log; /* lent; NULL: none */
	struct capture *capture;       /* lent; told of older spans; NULL: none */
	uint64_t period_ns;
	bool waits_outside;    /* what goroutines waited for outside spans is kept */
	bool keep_ended_spans; /* those that no sample saw, too; else only the sums of their names
				*/
};

struct pipeline_stats {
	uint64_t samples;	 /* of profiled processes */
	uint64_t without_image;	 /* their executable was not read in time: before it went, the run
				    ended or they were too many */
	uint64_t span_unsettled; /* a span was known but could not be read */
	uint64_t spans_ended;	 /* read after their end */
	uint64_t names_unsure;	 /* of those, without their name: its memory may have been reused */
	uint64_t unsampled;	 /* worked for a span that is sampled out */
	uint64_t waits;		 /* records of goroutines on no CPU */
	uint64_t waits_unsettled_ns; /* without a span: it could not be read, or had ended */
	uint64_t by_source[SPAN_SOURCE_COUNT]; /* tagged, by how their span is known */
	struct unwind_stats unwind;
};

int pipeline_open(const struct pipeline_config *config, struct pipeline **out);
void pipeline_close(struct pipeline *p);

/* A sample of a target that is attached. */
void pipeline_add(struct pipeline *p, struct target *target, const struct sample_record *sample);
/* What a goroutine did that was not on a CPU. */
void pipeline_add_wait(struct pipeline *p, struct target *target,
		       const struct waiting_record *record);
/* How far apart the looks are that such records come from. */
void pipeline_set_look_interval(struct pipeline *p, uint64_t ns);
/* A span of such a target that has ended: as the kernel side tells it, or read from its memory. */
void pipeline_add_ended(struct pipeline *p, struct target *target,
			const struct span_record *record);
void pipeline_add_ended_memory(struct pipeline *p, struct target *target,
			       const struct span_memory *span);
/* A span that is open, at a look at its memory. */
void pipeline_see_open(struct pipeline *p, struct target *target, const struct span_memory *span);
/* A sample whose executable is still being read: kept, within 4 MiB for all, else counted. */
void pipeline_hold(struct pipeline *p, const struct sample_record *sample);
/* Adds what was held for the target. */
void pipeline_release(struct pipeline *p, struct target *target);
/* Drops what was held for a process that is not profiled after all. */
void pipeline_discard(struct pipeline *p, uint32_t pid);
/* Counts what was held for a process whose image went before it was read. */
void pipeline_lose(struct pipeline *p, uint32_t pid);
void pipeline_lose_all(struct pipeline *p);

/*
 * More is known of who a process is: in the window under way it has but the one identity. Windows
 * that have ended keep what was known when they did.
 */
void pipeline_rename(struct pipeline *p, const struct identity *was, const struct identity *is);

/* Ends the window and gives it away; a new one begins. The caller closes it. NULL: no memory. */
struct profile *pipeline_take(struct pipeline *p);
/* The window under way, lent. */
const struct profile *pipeline_get(const struct pipeline *p);
void pipeline_get_stats(const struct pipeline *p, struct pipeline_stats *out);

#endif
