/* SPDX-License-Identifier: Apache-2.0 */
/* Makes room in the kernel side's store of goroutines when it has been full. */
#ifndef AGENT_GOROUTINE_SWEEP_H
#define AGENT_GOROUTINE_SWEEP_H

#include <stdint.h>

struct capture;
struct targets;

/* What it remembers between calls; all zero at first. */
struct goroutine_sweep {
	uint64_t full; /* times that the store was full, as of the last look */
};

/* Takes out the goroutines that have ended. Returns at once when there was always room. */
void goroutine_sweep_run(struct goroutine_sweep *s, struct capture *capture,
			 struct targets *targets);

#endif
