/* SPDX-License-Identifier: Apache-2.0 */
/* Bounded reading and growing of byte strings that come from, or go to, strangers. */
#ifndef BASE_BYTES_H
#define BASE_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A cursor over borrowed bytes. Once a read goes past the end, `failed` stays set and reads give 0.
 */
struct bytes {
	const uint8_t *at;
	const uint8_t *end;
	bool failed;
};

struct bytes bytes_over(const void *data, size_t size);
size_t bytes_left(const struct bytes *b);
void bytes_skip(struct bytes *b, size_t count);
uint8_t bytes_u8(struct bytes *b);
uint16_t bytes_u16(struct bytes *b); /* little endian, all of them */
uint32_t bytes_u32(struct bytes *b);
uint64_t bytes_u64(struct bytes *b);
/* LEB128, at most 10 bytes; a longer one fails. */
uint64_t bytes_uvarint(struct bytes *b);
/* Lends `count` bytes and moves past them; NULL when fewer are left. */
const uint8_t *bytes_take(struct bytes *b, size_t count);

/* A growing byte string with a cap. Once over the cap or out of memory, `failed` stays set. */
struct buffer {
	uint8_t *data;
	size_t size;
	size_t capacity;
	size_t cap;
	bool failed;
};

void buffer_open(struct buffer *b, size_t cap_bytes);
void buffer_close(struct buffer *b);
/* Gives back the memory that is not in use. */
void buffer_fit(struct buffer *b);
void buffer_add(struct buffer *b, const void *data, size_t size);
void buffer_printf(struct buffer *b, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
