/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes as hex digits: IDs of traces and spans, build IDs, percent-encoding. */
#ifndef BASE_HEX_H
#define BASE_HEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The value of a digit of either case; −1: it is none. */
int hex_digit(char c);
/* Exactly 2 × count digits; false: it is something else, `to` may be written to. */
bool hex_read(const char *text, size_t size, uint8_t *to, size_t count);
/* Writes 2 × count lower-case digits and a NUL. */
void hex_write(const uint8_t *bytes, size_t count, char *to);

#endif
