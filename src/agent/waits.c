/* SPDX-License-Identifier: Apache-2.0 */
/* Between the kernel side's store, the thread that looks, and the pipeline. See waits.h. */
#include "agent/waits.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "agent/binary_store.h"
#include "agent/options.h"
#include "agent/pipeline.h"
#include "agent/targets.h"
#include "base/clock.h"
#include "base/log.h"
#include "capture/capture.h"
#include "gobinary/gobinary.h"

#define CPU_SHARE     0.01
#define RECORDS_BYTES (4 << 20)
#define SPANS_MAX     16 /* of a goroutine, as the store has them */
#define FLUSH_NS      100000000ull
#define LAST_FLUSH_NS 2000000000ull

struct waits {
	const struct log *log;
	struct capture *capture;
	struct waiting *waiting;
	struct targets *targets;
	struct pipeline *pipeline;
	bool outside;	  /* goroutines outside spans, too */
	uint64_t late_ns; /* of targets that are gone */
};

static uint64_t get_version(void *context)
{
	const struct waits *w = context;

	/* Once a second in any case: what the agent itself forgets is not told. */
	return capture_get_store_version(w->capture) + (clock_monotonic_ns() / 1000000000 << 40);
}

struct telling {
	void (*tell)(void *to, const struct waiting_goroutine *goroutine);
	void *to;
};

static void tell_one(void *context, const struct capture_stored_goroutine *from)
{
	const struct telling *t = context;
	struct waiting_span spans[SPANS_MAX];
	struct waiting_goroutine g = {
		.generation = from->generation,
		.older = from->older,
		.inherited = from->inherited,
		.g = from->g,
		.goid = from->goid,
		.spans = spans,
	};

	for (; g.span_count < from->span_count && g.span_count < SPANS_MAX; g.span_count++)
		spans[g.span_count] = (struct waiting_span){
			.address = from->spans[g.span_count].address,
			.span_id = from->spans[g.span_count].span_id,
			.hides = from->spans[g.span_count].hides,
		};
	t->tell(t->to, &g);
}

static int each(void *context, void (*tell)(void *to, const struct waiting_goroutine *goroutine),
		void *to)
{
	const struct waits *w = context;
	struct telling telling = {tell, to};

	return capture_each_goroutine(w->capture, tell_one, &telling);
}

int waits_open(const struct options *options, const struct log *log, struct capture *capture,
	       struct waits **out)
{
	struct waits *w;
	struct waiting_config config = {
		.source = {.get_version = get_version, .each = each},
		.outside = options->wait_all,
		.frequency_hz = options->wait_hz,
		.cpu_share = CPU_SHARE,
		.records_bytes = RECORDS_BYTES,
	};
	int error;

	*out = NULL;
	if (options->wait_hz <= 0)
		return 0;
	w = calloc(1, sizeof(*w));
	if (!w)
		return -ENOMEM;
	w->log = log;
	w->capture = capture;
	w->outside = options->wait_all;
	config.source.context = w;
	error = waiting_open(&config, &w->waiting);
	if (error)
		free(w);
	else
		*out = w;
	return error;
}

bool waits_close(struct waits *w)
{
	if (!w)
		return true;
	if (!waiting_close(w->waiting))
		return false;
	free(w);
	return true;
}

void waits_add(struct waits *w, const struct target *target, bool has_spans)
{
	const struct gobinary_info *info = gobinary_get_info(target->binary->go);

	if (!w || !info->runtime.g_status || !(has_spans || w->outside))
		return;
	if (w->outside && !info->allgs)
		log_warn(w->log,
			 "pid %d: where its runtime lists goroutines was not found: those outside "
			 "spans are not looked at",
			 target->pid);
	if (waiting_add(w->waiting, target->generation, target->pid, info, target->bias))
		log_warn(w->log, "pid %d: out of memory: where its spans wait is not seen",
			 target->pid);
}

void waits_begin(struct waits *w, struct targets *targets, struct pipeline *pipeline)
{
	if (!w)
		return;
	w->targets = targets;
	w->pipeline = pipeline;
}

static void tell_interval(struct waits *w)
{
	struct waiting_stats stats;

	waiting_get_stats(w->waiting, &stats);
	if (w->pipeline && stats.frequency_hz > 0)
		pipeline_set_look_interval(w->pipeline,
					   (uint64_t)(1e9 * stats.share / stats.frequency_hz));
}

static void hand_over(struct waits *w)
{
	for (struct waiting_record *r = waiting_take(w->waiting), *next; r; r = next) {
		struct target *target =
			w->targets ? targets_find_generation(w->targets, r->sample.generation)
				   : NULL;

		next = r->next;
		if (target)
			pipeline_add_wait(w->pipeline, target, r);
		else
			w->late_ns += r->duration_ns;
		free(r);
	}
	tell_interval(w);
}

void waits_finish(struct waits *w)
{
	if (!w)
		return;
	if (!waiting_flush(w->waiting, 0, LAST_FLUSH_NS))
		log_warn(w->log, "what goroutines waited for in the end is not in the profile: to "
				 "look at all of them takes too long");
	hand_over(w);
}

void waits_remove(struct waits *w, uint32_t generation)
{
	if (!w)
		return;
	(void)waiting_flush(w->waiting, generation, FLUSH_NS); /* what comes later is lost */
	hand_over(w);
	waiting_remove(w->waiting, generation);
}

void waits_take(struct waits *w)
{
	const struct target *target;
	uint32_t hangs;

	if (!w)
		return;
	hand_over(w);
	hangs = waiting_watch(w->waiting, clock_monotonic_ns());
	target = hangs ? targets_find_generation(w->targets, hangs) : NULL;
	if (target)
		log_warn(w->log,
			 "pid %d: a read of its memory does not return: where its spans wait is "
			 "not seen any more",
			 target->pid);
}

void waits_get_stats(struct waits *w, struct waiting_stats *out)
{
	memset(out, 0, sizeof(*out));
	if (!w)
		return;
	waiting_get_stats(w->waiting, out);
	out->lost_ns += w->late_ns;
}
