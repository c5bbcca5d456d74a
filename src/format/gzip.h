/* SPDX-License-Identifier: Apache-2.0 */
/* Private to format: gzip into a buffer and out of it. */
#ifndef FORMAT_GZIP_H
#define FORMAT_GZIP_H

#include <stdbool.h>
#include <stddef.h>

struct buffer;

/* Appends one gzip member. -ENOMEM, -EFBIG over the buffer's cap. */
int format_gzip(const void *data, size_t size, struct buffer *out);
/* Whether the bytes begin like a gzip member. */
bool format_is_gzip(const void *data, size_t size);
/* Appends what one or more members hold. -EBADMSG: damaged or cut off; -ENOMEM, -EFBIG as above. */
int format_gunzip(const void *data, size_t size, struct buffer *out);

#endif
