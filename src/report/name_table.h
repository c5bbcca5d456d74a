/* SPDX-License-Identifier: Apache-2.0 */
/* The table by span name, of the closing report and of the live view. */
#ifndef REPORT_NAME_TABLE_H
#define REPORT_NAME_TABLE_H

#include <stdbool.h>
#include <stddef.h>

#include "report/paint.h"
#include "report/report_view.h"

struct name_table_options {
	size_t lines_max; /* title included */
	bool live;	  /* no per-span columns; a row for samples outside spans */
};

/* -ENOMEM */
int name_table_paint(const struct paint *p, const struct report_view *v,
		     const struct name_table_options *options);

#endif
