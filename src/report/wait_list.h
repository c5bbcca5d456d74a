/* SPDX-License-Identifier: Apache-2.0 */
/* The places outside spans at which goroutines were on no CPU. */
#ifndef REPORT_WAIT_LIST_H
#define REPORT_WAIT_LIST_H

#include <stddef.h>

#include "report/paint.h"
#include "report/report_view.h"

/* At most `lines_max` of them, most time first. -ENOMEM. */
int wait_list_paint(const struct paint *p, const struct report_view *v, size_t lines_max);

#endif
