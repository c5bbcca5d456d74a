/* SPDX-License-Identifier: Apache-2.0 */
/* Private to format: the span that a sample of a request belongs to. */
#ifndef FORMAT_OTLP_READ_SPAN_H
#define FORMAT_OTLP_READ_SPAN_H

#include "format/otlp_tables.h"

struct span;

/*
 * IDs from the sample's link, the rest from attributes that our own files add: name, flag, times,
 * parent, outcome. The sample's indices were checked; `name` is lent. -EBADMSG.
 */
int otlp_read_span(struct otlp_tables *t, const Otlp__Sample *m, struct span *span,
		   const char **name);

#endif
