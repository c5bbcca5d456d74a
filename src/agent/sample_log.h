/* SPDX-License-Identifier: Apache-2.0 */
/* -o FILE.jsonl: every sample and every ended span as one JSON line, to check against truth. */
#ifndef AGENT_SAMPLE_LOG_H
#define AGENT_SAMPLE_LOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct location;
struct sample_log;
struct sample_record;
struct sampled_span;
struct span_end;

/* Written beside `path`; a negative errno when it cannot be. */
int sample_log_open(const char *path, struct sample_log **out);
void sample_log_add(struct sample_log *l, const struct sample_record *sample,
		    const struct sampled_span *span, const struct location *const *locations,
		    size_t count, bool truncated);
void sample_log_add_ended(struct sample_log *l, uint32_t pid, const struct span_end *end);
const char *sample_log_get_path(const struct sample_log *l);
/* Puts it in place, whole. 0 or the first error of writing; `path` is then as it was. */
int sample_log_commit(struct sample_log *l);
/* Without a commit nothing stays. */
void sample_log_close(struct sample_log *l);

#endif
