/* SPDX-License-Identifier: Apache-2.0 */
/* See reading.h. */
#include "format/reading.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Names looked at, each as often as it is referred to: below 10 in ordinary files. */
#define TEXT_BYTES_PER_BYTE 128
#define TEXT_BYTES_FLOOR    (16 << 20)
/* A little over what a string table keeps, which then cuts at a character. */
#define TEXT_BYTES_MAX 16392
/* A message of two bytes takes some hundred once unpacked; ordinary files stay below 20. The floor
 * lets a small file be all of such messages. */
#define ARENA_BYTES_PER_BYTE 64
#define ARENA_BYTES_FLOOR    ((size_t)1 << 20)

const struct profile_config reading_config = {
	.samples_max = (size_t)4 << 20,
	.strings_bytes_max = (size_t)256 << 20,
	.spans_max = (size_t)1 << 20,
};

struct reading reading_of(size_t size, char *why, size_t why_size)
{
	return (struct reading){
		.text_left = (uint64_t)size * TEXT_BYTES_PER_BYTE + TEXT_BYTES_FLOOR,
		.counts_left = INT64_MAX,
		.waits_ns_left = INT64_MAX,
		.why = why,
		.why_size = why_size,
	};
}

int reading_fail(struct reading *r, const char *format, ...)
{
	va_list list;

	va_start(list, format);
	vsnprintf(r->why, r->why_size, format, list);
	va_end(list);
	return -EBADMSG;
}

int reading_spend(struct reading *r, const char *text)
{
	size_t size = strlen(text);

	if (size > r->text_left)
		return reading_fail(r, "it repeats its names more often than a profile does");
	r->text_left -= size;
	return 0;
}

int reading_spend_worth(struct reading *r, uint64_t count, uint64_t wait_ns)
{
	if (count > r->counts_left || wait_ns > r->waits_ns_left)
		return reading_fail(r, "its values add up to more than a profile holds");
	r->counts_left -= count;
	r->waits_ns_left -= wait_ns;
	return 0;
}

void reading_open_arena(struct arena *arena, size_t size, size_t max_bytes)
{
	size_t cap =
		size < max_bytes / ARENA_BYTES_PER_BYTE ? size * ARENA_BYTES_PER_BYTE : max_bytes;

	arena_open(arena, cap + ARENA_BYTES_FLOOR);
}

static void *allocate(void *arena, size_t size)
{
	return arena_take(arena, size);
}

/* protobuf-c frees what it built when it fails; the arena goes at once later. */
static void keep(void *arena, void *memory)
{
}

ProtobufCAllocator reading_allocator(struct arena *arena)
{
	return (ProtobufCAllocator){allocate, keep, arena};
}

void reading_cut_text(char *text)
{
	size_t size = strnlen(text, TEXT_BYTES_MAX);

	if (size == TEXT_BYTES_MAX)
		text[size] = '\0';
}

int reading_add_frame(struct reading *r, struct location *location, const struct frame *frame)
{
	int err;

	if (frame->function[0] || frame->file[0] || frame->start_line)
		location->frames[location->frame_count++] = *frame;
	err = reading_spend(r, frame->function);
	return err ? err : reading_spend(r, frame->file);
}

uint32_t reading_line_number(int64_t line)
{
	return line > 0 && line <= UINT32_MAX ? (uint32_t)line : 0;
}

bool reading_is_state(const struct location *l)
{
	return !l->mapping && !l->address && l->frame_count && l->frames[0].function[0] == '[';
}
