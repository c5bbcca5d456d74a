/* SPDX-License-Identifier: Apache-2.0 */
/* Looks after the probes of each process: what they cost it, and whether they tell of its spans. */
#include "agent/targets_private.h"

#include <inttypes.h>
#include <string.h>

#include "agent/attach.h"
#include "agent/binary_store.h"
#include "agent/options.h"
#include "base/clock.h"
#include "base/log.h"
#include "capture/capture.h"
#include "gobinary/gobinary.h"
#include "process/process.h"

#define HITS_OF_NO_MATTER 200 /* since the last look: nobody notices what they cost */
#define UNSEEN_MAX	  3   /* spans found on stacks though none was seen to start */
#define UNSEEN_AFTER_NS	  2000000000ull

static void announce(const struct targets *t, const struct target *target)
{
	const struct probe_guard *g = &target->guard;

	if (g->level == PROBES_ALL)
		log_info(t->config.log, "pid %d: %s again", target->pid,
			 probe_level_words(g->level));
	else
		log_info(t->config.log,
			 "pid %d: probes take %.1f %% of its CPU time (%" PRIu64
			 " spans start in a second, the limit is %g %%): %s; tried again in %.0f s",
			 target->pid, 100 * g->share, g->rate, t->config.options->probe_budget,
			 probe_level_words(g->level), (double)g->dwell_ns / 1e9);
}

/* Spans have started unseen: what was known of its goroutines is out of date. */
static void look_anew(struct targets *t, struct target *target)
{
	capture_forget_goroutines(t->config.capture, target->generation);
	target_take_census(t, target);
}

static void change_level(struct targets *t, struct target *target, enum probe_level before)
{
	bool was_blind = before >= PROBES_NO_GO, is_blind = target->guard.level == PROBES_NONE;

	target_probes_renew(t, target, false);
	if (is_blind)
		capture_forget_goroutines(t->config.capture, target->generation);
	else if (was_blind)
		look_anew(t, target);
	announce(t, target);
}

static uint64_t count_hits(const struct capture_process_counts *counts)
{
	return counts->spans_started + counts->spans_unsampled + counts->go_statements;
}

static void look(struct targets *t, struct target *target, const struct capture_probe_costs *costs)
{
	struct probe_guard *guard = &target->guard;
	enum probe_level before = guard->level;
	struct capture_process_counts counts;

	if (!capture_get_counts(t->config.capture, target->pid, target->generation, &counts))
		return;
	if (before == PROBES_ALL && guard->looked_ns &&
	    count_hits(&counts) - count_hits(&guard->counts) < HITS_OF_NO_MATTER)
		return;
	if (probe_guard_look(guard, costs, t->config.options->probe_budget / 100, &counts,
			     process_get_cpu_ns(target->process), clock_monotonic_ns()) != before)
		change_level(t, target, before);
}

/* Spans that are found on stacks have started: where their probes saw none, they are misplaced. */
static void check_start_point(struct targets *t, struct target *target, uint64_t now_ns)
{
	struct binary *binary = target->binary;
	const struct gobinary_info *info = gobinary_get_info(binary->go);
	struct attach_choice choice = {.skip = binary->starts_skipped};
	struct capture_process_counts counts;
	bool last;

	if (target->unseen_spans < UNSEEN_MAX || now_ns < target->attached_ns + UNSEEN_AFTER_NS ||
	    !target_probes_have_start(t, target) ||
	    !capture_get_counts(t->config.capture, target->pid, target->generation, &counts) ||
	    counts.spans_started)
		return;
	last = choice.skip + 1 >= attach_count_starts(info);
	target->unseen_spans = 0;
	log_warn(t->config.log,
		 "pid %d: spans start, but not where they were looked for (%s): they are looked "
		 "for %s%s",
		 target->pid, attach_start_words(info, &choice), last ? "" : "at ",
		 last ? "on the stacks of samples"
		      : attach_start_words(info, &(struct attach_choice){.skip = choice.skip + 1}));
	binary->starts_skipped++;
	target_probes_renew(t, target, true);
	look_anew(t, target);
}

void targets_guard(struct targets *t, uint64_t now_ns)
{
	struct capture_probe_costs costs;
	bool known = capture_get_probe_costs(t->config.capture, &costs);

	for (struct entry *e = t->entries; e; e = e->hh.next) {
		if (!e->target.generation)
			continue;
		check_start_point(t, &e->target, now_ns);
		if (known && target_probes_want_go(t, &e->target))
			look(t, &e->target, &costs);
	}
}

void targets_sum_up(const struct targets *t)
{
	for (const struct entry *e = t->entries; e; e = e->hh.next)
		if (e->target.guard.below_ns)
			log_info(t->config.log,
				 "pid %d: for %.0f s spans were not followed by all probes: they "
				 "cost more than --probe-budget",
				 e->target.pid, (double)e->target.guard.below_ns / 1e9);
}
