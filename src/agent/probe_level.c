/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two looks over the limit, or one far over it, and the first level that keeps to it is taken. Back
 * goes by a try: with fewer probes nobody knows how often they would be hit.
 */
#include "agent/probe_level.h"

#define LOOKS_OVER     2
#define FAR_OVER       5.0
#define FLOOR_SHARE    0.005 /* of one CPU: so much may always be, however idle the process is */
#define DWELL_FIRST_NS 30000000000ull
#define DWELL_MOST_NS  600000000000ull
#define LOOK_LEAST_NS  200000000ull /* shorter ones say little: CPU time comes in ticks */
#define CPU_LEAST_NS   20000000ull

static double cost_at(const struct capture_probe_costs *costs,
		      const struct capture_process_counts *hits, enum probe_level level)
{
	double span = (double)hits->spans_started * (double)costs->span_ns;
	double unsampled = (double)hits->spans_unsampled * (double)costs->unsampled_ns;
	double go = (double)hits->go_statements * (double)costs->go_ns;

	switch (level) {
	case PROBES_ALL:
		return span + unsampled + go;
	case PROBES_RECORDED:
		return span + go;
	case PROBES_NO_GO:
		return span;
	case PROBES_NONE:
		break;
	}
	return 0;
}

static enum probe_level first_below(const struct capture_probe_costs *costs,
				    const struct capture_process_counts *hits, double limit_ns,
				    enum probe_level from)
{
	while (from < PROBES_NONE && cost_at(costs, hits, from) > limit_ns)
		from++;
	return from;
}

static enum probe_level change(struct probe_guard *g, enum probe_level level, uint64_t now_ns)
{
	g->level = level;
	g->changed_ns = now_ns;
	g->looks_over = 0;
	return level;
}

/* A level that was taken again too soon stays away for longer. */
static void lengthen_dwell(struct probe_guard *g)
{
	g->dwell_ns = g->dwell_ns ? 2 * g->dwell_ns : DWELL_FIRST_NS;
	if (g->dwell_ns > DWELL_MOST_NS)
		g->dwell_ns = DWELL_MOST_NS;
}

enum probe_level probe_guard_look(struct probe_guard *g, const struct capture_probe_costs *costs,
				  double share, const struct capture_process_counts *counts,
				  uint64_t cpu_ns, uint64_t now_ns)
{
	struct capture_process_counts hits = {counts->spans_started - g->counts.spans_started,
					      counts->spans_unsampled - g->counts.spans_unsampled,
					      counts->go_statements - g->counts.go_statements};
	uint64_t elapsed_ns = now_ns - g->looked_ns, used_ns = cpu_ns - g->cpu_ns;
	bool first = !g->looked_ns;
	double cost_ns, limit_ns;

	if (!first && elapsed_ns < LOOK_LEAST_NS)
		return g->level;
	g->counts = *counts;
	g->cpu_ns = cpu_ns;
	g->looked_ns = now_ns;
	if (first || !share)
		return g->level;
	if (g->level != PROBES_ALL)
		g->below_ns += elapsed_ns;
	if (g->level != PROBES_ALL && now_ns - g->changed_ns >= g->dwell_ns)
		return change(g, PROBES_ALL, now_ns);
	cost_ns = cost_at(costs, &hits, g->level);
	limit_ns = share * (double)used_ns;
	if (g->level < PROBES_NONE) {
		g->share = used_ns ? cost_ns / (double)used_ns : 0;
		g->rate = hits.spans_started * 1000000000ull / elapsed_ns;
	}
	if (limit_ns < FLOOR_SHARE * (double)elapsed_ns)
		limit_ns = FLOOR_SHARE * (double)elapsed_ns;
	if (used_ns < CPU_LEAST_NS || cost_ns <= limit_ns) {
		g->looks_over = 0;
		/* It has held for as long as it was away: the next time begins anew. */
		if (g->level == PROBES_ALL && g->dwell_ns && now_ns - g->changed_ns > g->dwell_ns)
			g->dwell_ns = 0;
		return g->level;
	}
	if (++g->looks_over < LOOKS_OVER && cost_ns <= FAR_OVER * limit_ns)
		return g->level;
	lengthen_dwell(g);
	return change(g, first_below(costs, &hits, limit_ns, g->level), now_ns);
}

const char *probe_level_words(enum probe_level level)
{
	static const char *const words[] = {
		[PROBES_ALL] = "spans and `go` statements are followed by probes",
		[PROBES_RECORDED] = "spans that are sampled out are not followed any more",
		[PROBES_NO_GO] = "`go` statements are not followed any more: of children only the "
				 "stack tells the span",
		[PROBES_NONE] = "spans are looked for on the stacks of samples instead",
	};

	return words[level];
}
