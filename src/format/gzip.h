/* SPDX-License-Identifier: Apache-2.0 */
/* Private to format: gzip into a buffer. */
#ifndef FORMAT_GZIP_H
#define FORMAT_GZIP_H

#include <stddef.h>

struct buffer;

/* Appends one gzip member. -ENOMEM, -EFBIG over the buffer's cap. */
int format_gzip(const void *data, size_t size, struct buffer *out);

#endif
