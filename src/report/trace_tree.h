/* SPDX-License-Identifier: Apache-2.0 */
/* The spans of one trace as a tree along time, as far as they ran in profiled processes. */
#ifndef REPORT_TRACE_TREE_H
#define REPORT_TRACE_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "report/paint.h"
#include "report/report_view.h"

/* Whether at least two spans of this trace are known: that have ended, or still were open. */
bool trace_tree_has_rows(const struct report_view *v, const uint8_t trace_id[16]);
/*
 * A line for each of them, parents before their children, these by their start; those beyond
 * `lines_max` are counted. -ENOMEM.
 */
int trace_tree_paint(const struct paint *p, const struct report_view *v, const uint8_t trace_id[16],
		     size_t lines_max);

#endif
