/* SPDX-License-Identifier: Apache-2.0 */
/* The signals that end a run: blocked in all threads, taken by the loop, seen by the watchdog. */
#ifndef AGENT_ENDING_SIGNALS_H
#define AGENT_ENDING_SIGNALS_H

#include <signal.h>

void ending_signals_get(sigset_t *out);

#endif
