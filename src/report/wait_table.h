/* SPDX-License-Identifier: Apache-2.0 */
/* Where spans waited, as text. */
#ifndef REPORT_WAIT_TABLE_H
#define REPORT_WAIT_TABLE_H

#include <stddef.h>

#include "report/paint.h"
#include "report/report_view.h"
#include "report/wait_sums.h"

/* At most so many names with a heading; -ENOMEM. */
int wait_table_paint(const struct paint *p, const struct report_view *v, size_t lines_max);
/* "[chan receive] main.serve", or the state alone. */
void wait_table_place(const struct report_view *v, const struct wait_sum *sum, char *to,
		      size_t size);

#endif
