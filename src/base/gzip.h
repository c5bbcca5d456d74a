/* SPDX-License-Identifier: Apache-2.0 */
/* gzip (RFC 1952) into a buffer and out of it. */
#ifndef BASE_GZIP_H
#define BASE_GZIP_H

#include <stdbool.h>
#include <stddef.h>

struct buffer;

/* Appends one gzip member. -ENOMEM, -EFBIG over the buffer's cap. */
int gzip_pack(const void *data, size_t size, struct buffer *out);
/* Whether the bytes begin like a gzip member. */
bool gzip_begins(const void *data, size_t size);
/* Appends what one or more members hold. -EBADMSG: damaged or cut off; -ENOMEM, -EFBIG as above. */
int gzip_unpack(const void *data, size_t size, struct buffer *out);

#endif
