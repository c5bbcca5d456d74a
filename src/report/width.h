/* SPDX-License-Identifier: Apache-2.0 */
/* How many terminal columns clean UTF-8 text takes, whatever the locale says. */
#ifndef REPORT_WIDTH_H
#define REPORT_WIDTH_H

#include <stddef.h>

size_t width_of(const char *text, size_t size);
/* Bytes of the longest beginning that takes at most `columns`; its columns in `used`. */
size_t width_prefix(const char *text, size_t size, size_t columns, size_t *used);
/* Bytes to leave out at the front so that the rest takes at most `columns`. */
size_t width_suffix(const char *text, size_t size, size_t columns, size_t *used);

#endif
