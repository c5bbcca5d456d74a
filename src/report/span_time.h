/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The time of one span as a sum, and how much of it is accounted for.
 *
 *	5.00 s = 0.20 s CPU + 4.70 s waiting (chan receive in main.fetch store.go:31)
 *	accounted for: 98.0 % ± 1 %
 *
 * Behind the ± is one standard error. CPU time is n samples, each of a period T: T × √n, as of a
 * count, and at least T. Off-CPU time is what looks found, each standing for the interval I since
 * the one before. Of W in a span of S there were W / I such looks, which fell on it or beside it
 * by chance: I × √(W / I × (1 − W / S)). Where it only waited that is nothing, but each of its two
 * ends lies up to one I from a look, so twice I² is added under the root. I is the mean of the
 * run. All this is on the careful side: samples and looks that follow each other on one long
 * stretch err less than by chance.
 *
 * Of a span that began before the profile only what came after can have been seen: S is that
 * part, and is told. Whether the process was attached later than the profile began is not known;
 * nor are the gaps between files that were put together. A span that was open at the end counts
 * up to where it was last seen to be. Beyond all chance (two standard errors) more than S were
 * several goroutines at work for the span at once: that is told in place of the share. Of a
 * process in which nobody looked at what waits only the CPU time is known, and no share is told;
 * where it is not known how often one looked, no uncertainty.
 */
#ifndef REPORT_SPAN_TIME_H
#define REPORT_SPAN_TIME_H

#include "report/paint.h"
#include "report/report_view.h"

/* Nothing where nothing is known. -ENOMEM. */
int span_time_paint(const struct paint *p, const struct report_view *v, const struct span_sum *sum);

#endif
