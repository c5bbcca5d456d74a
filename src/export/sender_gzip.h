/* SPDX-License-Identifier: Apache-2.0 */
/* Compresses a request body. */
#ifndef EXPORT_SENDER_GZIP_H
#define EXPORT_SENDER_GZIP_H

#include <stddef.h>
#include <stdint.h>

/* A gzip member in memory of the caller's to free. -ENOMEM; -ENOSPC: it would not be smaller. */
int sender_gzip(const void *data, size_t size, uint8_t **out, size_t *out_size);

#endif
