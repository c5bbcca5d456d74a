/* SPDX-License-Identifier: Apache-2.0 */
/* What was lost, by reason, and with --verbose what was counted and used. */
#ifndef AGENT_SUMMARY_H
#define AGENT_SUMMARY_H

struct session;

void summary_log(const struct session *s);

#endif
