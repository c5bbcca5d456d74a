/* SPDX-License-Identifier: Apache-2.0 */
/* By span name: time on a CPU and off, and where most of what was off it went. */
#ifndef REPORT_TIME_TABLE_H
#define REPORT_TIME_TABLE_H

#include <stddef.h>

#include "report/paint.h"
#include "report/report_view.h"

/* At most so many names; those beyond are counted. -ENOMEM. */
int time_table_paint(const struct paint *p, const struct report_view *v, size_t names_max);

#endif
