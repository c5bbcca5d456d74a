/* SPDX-License-Identifier: Apache-2.0 */
/* The list of hottest lines under a span, with what led to each. */
#ifndef REPORT_HOT_LIST_H
#define REPORT_HOT_LIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "report/paint.h"
#include "report/report_view.h"

/* At most `max` lines among `rows`, below column titles when `titles`. -ENOMEM. */
int hot_list_paint(const struct paint *p, const struct report_view *v, const uint32_t *rows,
		   size_t row_count, size_t max, bool titles);

#endif
