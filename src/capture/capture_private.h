/* SPDX-License-Identifier: Apache-2.0 */
/* Private to capture: the structure, for the files that share it. */
#ifndef CAPTURE_CAPTURE_PRIVATE_H
#define CAPTURE_CAPTURE_PRIVATE_H

/* The skeleton uses the types of target.h, which capture.h includes. */
#include "capture/capture.h"

#include "spanprof.skel.h"

struct capture {
	struct capture_config config;
	struct capture_handler handler;
	struct spanprof_bpf *bpf;
	struct ring_buffer *ring;
	struct clocks *clocks;
	struct goroutine_store *store;
	_Atomic uint64_t store_changes; /* by the agent */
	struct probes *probes;
	struct calibration *calibration; /* NULL: not begun */
	unsigned polled;		 /* records in this round */
	uint64_t poll_end_ns;		 /* of CLOCK_MONOTONIC */
};

#endif
