/* SPDX-License-Identifier: Apache-2.0 */
/* How the service's own code came to a line: `main.cpuHeavy → main.countPrimes`. */
#ifndef REPORT_CALL_PATH_H
#define REPORT_CALL_PATH_H

#include <stdint.h>

#include "report/paint.h"
#include "report/report_view.h"

/*
 * Behind `share` ("" or "32 %"), one line from the outermost function of the service's own code
 * down to the leaf, within `columns`: what does not fit is left out in the middle ("…"), library
 * functions first. Nothing when the leaf is the only one.
 */
void call_path_paint(const struct paint *p, const struct report_view *v, uint32_t stack,
		     const char *share, size_t indent, size_t columns);

#endif
