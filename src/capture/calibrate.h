/* SPDX-License-Identifier: Apache-2.0 */
/* What a hit of each probe costs the process it is in: the trap, which no program can see, as well.
 */
#ifndef CAPTURE_CALIBRATE_H
#define CAPTURE_CALIBRATE_H

#include <stdbool.h>
#include <stdint.h>

#include "capture/capture.h"

struct bpf_map;
struct bpf_program;
struct calibration;

/* Of the loaded object; lent until the end. */
struct calibrate_parts {
	struct bpf_map *processes;
	const struct bpf_program *span_start, *goroutine_start;
};

/*
 * Fires the span and `go` probes some thousand times on an instruction of our own, with this
 * process in a target's place, and takes the CPU time of that; on a thread of its own, for setting
 * probes and taking them away may take long. A negative errno.
 */
int calibration_begin(const struct calibrate_parts *parts, struct calibration **out);
/* Waits for the thread. */
void calibration_end(struct calibration *c);
/* False: not known yet, or they could not be measured. */
bool calibration_get(const struct calibration *c, struct capture_probe_costs *costs);
/* What it has added to the kernel side's counters: all at once when it is done. */
void calibration_subtract(const struct calibration *c, struct target_counters *counters);

#endif
