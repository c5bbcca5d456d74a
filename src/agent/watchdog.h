/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ends the program when the loop hangs in a read of a foreign page or file (FUSE, userfaultfd, a
 * dead NFS server) and can no longer see a signal or the end of --duration itself; and, once the
 * loop is over, at the next signal.
 */
#ifndef AGENT_WATCHDOG_H
#define AGENT_WATCHDOG_H

#include <stdint.h>

struct log;
struct watchdog;

/* To be called with the signals that end the program blocked. */
int watchdog_open(const struct log *log, struct watchdog **out);
void watchdog_close(struct watchdog *w);
/* The loop is alive; it means to end at `end_ns` of CLOCK_MONOTONIC, 0: open-ended. */
void watchdog_feed(struct watchdog *w, uint64_t end_ns);
/* Files, report and delivery follow: from now on a signal ends the program at once. */
void watchdog_finish(struct watchdog *w);

#endif
