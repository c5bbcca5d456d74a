/* SPDX-License-Identifier: Apache-2.0 */
/* The sentences of the closing report: what was profiled, what the filter left, what to know. */
#ifndef REPORT_TERMINAL_HEAD_H
#define REPORT_TERMINAL_HEAD_H

#include "report/paint.h"
#include "report/report.h"
#include "report/report_view.h"

#define REPORT_COLUMNS_MIN 42 /* "    trace " and an ID */

void terminal_head_paint(const struct paint *p, const struct report_view *v,
			 const struct report_options *options);
void terminal_notes_paint(const struct paint *p, const struct report_view *v);

#endif
