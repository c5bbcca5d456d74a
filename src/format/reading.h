/* SPDX-License-Identifier: Apache-2.0 */
/* Private to format: what the readers of strangers' files share: limits, and how they refuse. */
#ifndef FORMAT_READING_H
#define FORMAT_READING_H

#include <protobuf-c/protobuf-c.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "profile/profile.h"

/* One more than a profile keeps of a stack, so that it notices the cut. */
#define READING_DEPTH_MAX 1025
/* More than a profile keeps of a location. */
#define READING_LINES_MAX 128

struct reading {
	uint64_t text_left; /* bytes of names that may still be looked at, in the whole file */
	uint64_t counts_left, waits_ns_left; /* so that no sum of its values overflows */
	char *why;			     /* lent: where a sentence about an error goes */
	size_t why_size;
};

/* Caps of the profile that a file becomes; its period is the reader's to set. */
extern const struct profile_config reading_config;

/* `size`: that of the file, unpacked. */
struct reading reading_of(size_t size, char *why, size_t why_size);
/* Writes the sentence; always -EBADMSG. */
int reading_fail(struct reading *r, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Accounts for another look at this text; -EBADMSG when a small input repeats long names. */
int reading_spend(struct reading *r, const char *text);
/* Accounts for what a sample is worth; -EBADMSG. */
int reading_spend_worth(struct reading *r, uint64_t count, uint64_t wait_ns);

/* An arena with room for the messages in so many bytes, `max_bytes` at most; and protobuf-c's way
 * to it. */
void reading_open_arena(struct arena *arena, size_t size, size_t max_bytes);
ProtobufCAllocator reading_allocator(struct arena *arena);

/* Cuts in place what a string table would cut, so that later looks at it walk little. */
void reading_cut_text(char *text);
/*
 * Adds a frame to a location that has room for it, if it says anything; its names are accounted
 * for. -EBADMSG.
 */
int reading_add_frame(struct reading *r, struct location *location, const struct frame *frame);
/* 0 where there is no such line. */
uint32_t reading_line_number(int64_t line);
/* What lies nowhere and is named in brackets is a state of a goroutine, not a function. */
bool reading_is_state(const struct location *l);

#endif
