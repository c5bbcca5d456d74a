/* SPDX-License-Identifier: Apache-2.0 */
/* What a hit of each probe costs the process it is in: the trap, which no program can see, as well.
 */
#ifndef CAPTURE_CALIBRATE_H
#define CAPTURE_CALIBRATE_H

#include <stdint.h>

#include "capture/capture.h"

struct bpf_map;
struct bpf_program;
struct probes;

/* Of the loaded object; lent. */
struct calibrate_parts {
	struct probes *probes;
	struct bpf_map *processes;
	const struct bpf_program *span_start, *goroutine_start;
};

/*
 * Fires the span and `go` probes some thousand times on an instruction of our own, with this
 * process in a target's place, and takes the CPU time of that. `*events` is what that added to the
 * kernel side's counters. Takes some 20 ms. A negative errno.
 */
int calibrate(const struct calibrate_parts *parts, struct capture_probe_costs *costs,
	      struct target_counters *events);

#endif
