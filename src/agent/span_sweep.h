/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ended spans that no later start on their goroutine has dropped: a look at the memory of all that
 * the kernel side's store has. The garbage collector may be first: that is counted.
 */
#ifndef AGENT_SPAN_SWEEP_H
#define AGENT_SPAN_SWEEP_H

#include <stdbool.h>
#include <stdint.h>

struct capture;
struct pipeline;
struct span_sweep;
struct targets;

int span_sweep_open(struct span_sweep **out);
void span_sweep_close(struct span_sweep *s);
/*
 * Hands the ends it finds to the pipeline. Returns at once when no span has started since. ns until
 * the next one should be: at most SPAN_SWEEP_NS, less where the garbage collector was first lately.
 */
#define SPAN_SWEEP_NS 100000000ull
uint64_t span_sweep_run(struct span_sweep *s, struct capture *capture, struct targets *targets,
			struct pipeline *pipeline);
/* Of the spans in the store, as of the last sweep. */
uint64_t span_sweep_count_open(const struct span_sweep *s);
/* Whether a sweep has told of this span's end already. Ends told otherwise are asked for between
 * two sweeps. */
bool span_sweep_has_told(const struct span_sweep *s, const uint8_t span_id[8]);

#endif
