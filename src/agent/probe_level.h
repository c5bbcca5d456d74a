/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How much is probed in one process. The probes may cost it a share of its CPU time; where they
 * would take more, it gets fewer of them, at last none: then spans are found on stacks alone.
 */
#ifndef AGENT_PROBE_LEVEL_H
#define AGENT_PROBE_LEVEL_H

#include <stdbool.h>
#include <stdint.h>

#include "capture/capture.h"

enum probe_level { /* each costs less than the one before */
		   PROBES_ALL,
		   PROBES_RECORDED, /* starts of recorded spans: none that are sampled out */
		   PROBES_NO_GO,    /* of those no `go` statements: nothing is inherited */
		   PROBES_NONE,
};

/* What is remembered of one process between looks. All zero at its attach. */
struct probe_guard {
	enum probe_level level;
	struct capture_process_counts counts;
	uint64_t cpu_ns, looked_ns, changed_ns;
	uint64_t dwell_ns; /* the level stays at least so long; grows each time a try fails */
	unsigned looks_over;
	double share;	   /* of its CPU time that the probes took, at the last look */
	uint64_t rate;	   /* spans started in a second, then */
	uint64_t below_ns; /* time it has spent below PROBES_ALL */
};

/*
 * The level that is right from now on. `share` is the part of the process's CPU time that probes
 * may take, 0: as much as they want. To be asked about once a second; the counts and the CPU time
 * are totals.
 */
enum probe_level probe_guard_look(struct probe_guard *g, const struct capture_probe_costs *costs,
				  double share, const struct capture_process_counts *counts,
				  uint64_t cpu_ns, uint64_t now_ns);
const char *probe_level_words(enum probe_level level);

#endif
