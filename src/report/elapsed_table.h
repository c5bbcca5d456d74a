/* SPDX-License-Identifier: Apache-2.0 */
/* How long ended spans took, by name: also those that no sample saw. */
#ifndef REPORT_ELAPSED_TABLE_H
#define REPORT_ELAPSED_TABLE_H

#include <stdbool.h>
#include <stddef.h>

#include "report/paint.h"
#include "report/report_view.h"

bool elapsed_table_has_rows(const struct report_view *v);
/* A title line and at most `lines_max` rows, most time in all first. -ENOMEM. */
int elapsed_table_paint(const struct paint *p, const struct report_view *v, size_t lines_max);

#endif
