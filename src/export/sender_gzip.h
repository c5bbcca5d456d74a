/* SPDX-License-Identifier: Apache-2.0 */
/* Compresses a request body, and reads a compressed answer. */
#ifndef EXPORT_SENDER_GZIP_H
#define EXPORT_SENDER_GZIP_H

#include <stddef.h>
#include <stdint.h>

/* A gzip member in memory of the caller's to free. -ENOMEM; -ENOSPC: it would not be smaller. */
int sender_gzip(const void *data, size_t size, uint8_t **out, size_t *out_size);

/* One gzip member, and nothing behind it. -EBADMSG: not one, or larger than `to_size`. */
int sender_gunzip(const void *data, size_t size, uint8_t *to, size_t to_size, size_t *out_size);

#endif
