/* SPDX-License-Identifier: Apache-2.0 */
/* What a person is told of one target: why it is not profiled, what was attached, why no spans. */
#ifndef AGENT_TARGET_WORDS_H
#define AGENT_TARGET_WORDS_H

#include <stdbool.h>

struct loaded;
struct log;
struct options;
struct target;

/* Why a process that was read is not profiled; NULL when it is. */
const char *target_refusal(const struct options *o, const struct target *target,
			   const struct loaded *loaded);
/* In full for one process of an executable, and for all that were named; not `again`, after an exec
 * of the same file. */
void target_announce(const struct log *log, const struct target *target, bool again);
/* Why samples of an attached target carry no span. */
void target_explain(const struct log *log, const struct options *o, const struct target *target);

#endif
