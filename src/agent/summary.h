/* SPDX-License-Identifier: Apache-2.0 */
/* What was lost, by reason, and with --verbose what was counted and used. */
#ifndef AGENT_SUMMARY_H
#define AGENT_SUMMARY_H

struct session;

void summary_log(const struct session *s);
/* One line while it runs: seconds since the start, samples, share inside spans. */
void summary_log_progress(const struct session *s, double seconds);

#endif
