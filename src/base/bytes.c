/* SPDX-License-Identifier: Apache-2.0 */
/* The bounded cursor and the capped buffer; see bytes.h. */
#include "base/bytes.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Adding 0 to NULL is undefined, and an empty input often comes as NULL. */
struct bytes bytes_over(const void *data, size_t size)
{
	struct bytes b = {.at = data, .end = size ? (const uint8_t *)data + size : data};

	return b;
}

/* After a failure nothing is left: a loop over bytes_left then ends. */
size_t bytes_left(const struct bytes *b)
{
	return b->failed ? 0 : (size_t)(b->end - b->at);
}

/* Compares sizes, never pointers beyond the end, so that no count can wrap. */
const uint8_t *bytes_take(struct bytes *b, size_t count)
{
	const uint8_t *from = b->at;

	if (b->failed || count > (size_t)(b->end - b->at)) {
		b->failed = true;
		return NULL;
	}
	if (count)
		b->at += count;
	return from;
}

void bytes_skip(struct bytes *b, size_t count)
{
	bytes_take(b, count);
}

/* Byte by byte, so that the host's order and alignment rules do not matter. */
static uint64_t take_little_endian(struct bytes *b, size_t width)
{
	const uint8_t *from = bytes_take(b, width);
	uint64_t value = 0;

	if (!from)
		return 0;
	for (size_t i = 0; i < width; i++)
		value |= (uint64_t)from[i] << (8 * i);
	return value;
}

uint8_t bytes_u8(struct bytes *b)
{
	return (uint8_t)take_little_endian(b, 1);
}

uint16_t bytes_u16(struct bytes *b)
{
	return (uint16_t)take_little_endian(b, 2);
}

uint32_t bytes_u32(struct bytes *b)
{
	return (uint32_t)take_little_endian(b, 4);
}

uint64_t bytes_u64(struct bytes *b)
{
	return take_little_endian(b, 8);
}

uint64_t bytes_uvarint(struct bytes *b)
{
	uint64_t value = 0;

	for (unsigned int shift = 0; shift < 70; shift += 7) {
		uint8_t byte = bytes_u8(b);

		if (b->failed)
			return 0;
		/* The tenth byte has room for one bit only. */
		if (shift == 63 && byte > 1)
			break;
		value |= (uint64_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80))
			return value;
	}
	b->failed = true;
	return 0;
}

void buffer_open(struct buffer *b, size_t cap_bytes)
{
	*b = (struct buffer){.cap = cap_bytes};
}

/* Usable again afterwards, with the same cap. */
void buffer_close(struct buffer *b)
{
	free(b->data);
	*b = (struct buffer){.cap = b->cap};
}

void buffer_fit(struct buffer *b)
{
	uint8_t *data = b->size ? realloc(b->data, b->size) : NULL;

	if (!data)
		return;
	b->data = data;
	b->capacity = b->size;
}

/* Makes room for `size` more bytes; sets `failed` where that is not possible. */
static bool buffer_reserve(struct buffer *b, size_t size)
{
	size_t capacity = b->capacity ? b->capacity : 256;
	uint8_t *data;

	if (b->failed)
		return false;
	if (size > b->cap - b->size)
		goto fail;
	if (b->size + size <= b->capacity)
		return true;
	/* Doubling, but never beyond the cap. */
	while (capacity < b->size + size)
		capacity = capacity > b->cap / 2 ? b->cap : capacity * 2;
	data = realloc(b->data, capacity);
	if (!data)
		goto fail;
	b->data = data;
	b->capacity = capacity;
	return true;
fail:
	b->failed = true;
	return false;
}

/* All or nothing: a piece that does not fit is not added in part. */
void buffer_add(struct buffer *b, const void *data, size_t size)
{
	if (!size || !buffer_reserve(b, size))
		return;
	memcpy(b->data + b->size, data, size);
	b->size += size;
}

/* The terminating NUL that vsnprintf writes is not counted, but must fit below the cap. */
void buffer_printf(struct buffer *b, const char *format, ...)
{
	va_list list;
	int length;

	va_start(list, format);
	length = vsnprintf(NULL, 0, format, list);
	va_end(list);
	if (length < 0) {
		b->failed = true;
		return;
	}
	if (!buffer_reserve(b, (size_t)length + 1))
		return;
	va_start(list, format);
	vsnprintf((char *)b->data + b->size, (size_t)length + 1, format, list);
	va_end(list);
	b->size += (size_t)length;
}
