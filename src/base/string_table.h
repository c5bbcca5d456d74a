/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Interned strings. Every string that came from a target is made fit for a terminal, a log and
 * the wire here, once: valid UTF-8, no control characters.
 */
#ifndef BASE_STRING_TABLE_H
#define BASE_STRING_TABLE_H

#include <stddef.h>
#include <stdint.h>

struct string_table;

/* Id 0 is always "". Errors: -ENOMEM. */
int string_table_open(size_t cap_bytes, struct string_table **out);
void string_table_close(struct string_table *t);
/* The id of the cleaned string; 0 when the cap is reached (counted) or size is 0. */
uint32_t string_table_add(struct string_table *t, const char *text, size_t size);
/* Lent, NUL-terminated, valid until close; "" for an unknown id. */
const char *string_table_get(const struct string_table *t, uint32_t id);
uint32_t string_table_count(const struct string_table *t);
uint64_t string_table_dropped(const struct string_table *t);

/*
 * Copies `size` bytes cleaned: an invalid UTF-8 sequence becomes U+FFFD, a control character
 * (C0, DEL, C1, line and paragraph separators, bidirectional overrides) too. Always
 * NUL-terminates; returns the length written, never cutting a character in two.
 */
size_t string_clean(char *to, size_t to_size, const char *text, size_t size);

#endif
