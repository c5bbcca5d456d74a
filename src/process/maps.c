/* SPDX-License-Identifier: Apache-2.0 */
/* /proc/PID/maps, a line: start-limit rwxp offset major:minor inode [path]. */
#include "process/maps.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>

#include "base/bytes.h"
#include "base/string_table.h"

#define PATH_BYTES_MAX 4352 /* PATH_MAX and some escapes; longer ones are cut */

struct mapping_list {
	struct process_mapping *items;
	size_t count;
	size_t capacity;
};

struct maps_parser {
	struct mapping_list executable, other;
	struct buffer paths;
	struct bytes last_path; /* raw, of the line before */
	size_t last_path_at;
	uint64_t last_limit;
	uint64_t dropped;
};

static uint64_t take_number(struct bytes *b, unsigned int base)
{
	uint64_t value = 0;
	unsigned int digits = 0;

	for (; bytes_left(b); digits++, b->at++) {
		uint8_t c = *b->at;
		unsigned int digit;

		if (c >= '0' && c <= '9')
			digit = c - '0';
		else if (c >= 'a' && c <= 'f')
			digit = c - 'a' + 10;
		else
			break;
		if (digit >= base || digits >= 20)
			break;
		value = value * base + digit;
	}
	if (!digits)
		b->failed = true;
	return value;
}

static void take_char(struct bytes *b, char expected)
{
	if (bytes_u8(b) != (uint8_t)expected)
		b->failed = true;
}

/* All but the path; leaves the cursor at the path's first byte. */
static bool parse_fields(struct bytes *b, struct process_mapping *m)
{
	const uint8_t *permissions;
	unsigned int major_number;

	*m = (struct process_mapping){0};
	m->start = take_number(b, 16);
	take_char(b, '-');
	m->limit = take_number(b, 16);
	take_char(b, ' ');
	permissions = bytes_take(b, 4);
	m->executable = permissions && permissions[2] == 'x';
	take_char(b, ' ');
	m->file_offset = take_number(b, 16);
	take_char(b, ' ');
	major_number = (unsigned int)take_number(b, 16);
	take_char(b, ':');
	m->device = makedev(major_number, (unsigned int)take_number(b, 16));
	take_char(b, ' ');
	m->inode = take_number(b, 10);
	while (bytes_left(b) && *b->at == ' ')
		b->at++;
	return !b->failed && m->start < m->limit;
}

/* Where the cleaned path begins in paths; a file's mappings follow each other and share it. */
static size_t add_path(struct maps_parser *parser, struct bytes path)
{
	char clean[PATH_BYTES_MAX];
	size_t left = bytes_left(&path), at = parser->paths.size;

	if (!left)
		return 0;
	if (left == bytes_left(&parser->last_path) && !memcmp(path.at, parser->last_path.at, left))
		return parser->last_path_at;
	buffer_add(&parser->paths, clean,
		   string_clean(clean, sizeof(clean), (const char *)path.at, left) + 1);
	if (parser->paths.failed) {
		parser->dropped++;
		return 0;
	}
	parser->last_path = path;
	parser->last_path_at = at;
	return at;
}

static int add_mapping(struct mapping_list *list, const struct process_mapping *m)
{
	if (list->count == MAPS_COUNT_MAX)
		return -ENOSPC;
	if (list->count == list->capacity) {
		size_t capacity = list->capacity ? list->capacity * 2 : 16;
		struct process_mapping *items;

		items = reallocarray(list->items, capacity, sizeof(*items));
		if (!items)
			return -ENOMEM;
		list->items = items;
		list->capacity = capacity;
	}
	list->items[list->count++] = *m;
	return 0;
}

static int parse_line(struct maps_parser *parser, struct bytes line)
{
	struct process_mapping m;
	int err;

	/* Out of order would break the search by address. */
	if (!parse_fields(&line, &m) || m.start < parser->last_limit) {
		parser->dropped++;
		return 0;
	}
	parser->last_limit = m.limit;
	/* An offset until all paths are known and the buffer stays where it is. */
	m.path = (const char *)(uintptr_t)add_path(parser, line);
	err = add_mapping(m.executable ? &parser->executable : &parser->other, &m);
	if (err != -ENOSPC)
		return err;
	parser->dropped++;
	return 0;
}

/* Joins both lists, executable mappings first, and turns path offsets into pointers. */
static int finish(struct maps_parser *parser, struct maps *out)
{
	size_t executable = parser->executable.count, count = executable + parser->other.count;
	struct process_mapping *items = parser->executable.items;

	if (count > MAPS_COUNT_MAX) {
		parser->dropped += count - MAPS_COUNT_MAX;
		count = MAPS_COUNT_MAX;
	}
	if (count) {
		items = reallocarray(items, count, sizeof(*items));
		if (!items)
			return -ENOMEM;
		parser->executable.items = NULL;
		if (count > executable)
			memcpy(items + executable, parser->other.items,
			       (count - executable) * sizeof(*items));
	}
	for (size_t i = 0; i < count; i++)
		items[i].path = (const char *)parser->paths.data + (uintptr_t)items[i].path;
	*out = (struct maps){
		.mappings = items,
		.count = count,
		.executable_count = executable,
		.paths = (char *)parser->paths.data,
		.dropped = parser->dropped,
	};
	parser->paths.data = NULL;
	return 0;
}

int maps_parse(const void *text, size_t size, struct maps *out)
{
	struct maps_parser parser = {0};
	const char *at = size ? text : "", *end = at + size, *newline;
	int err = 0;

	buffer_open(&parser.paths, MAPS_PATHS_MAX);
	buffer_add(&parser.paths, "", 1);
	if (parser.paths.failed)
		return -ENOMEM;
	for (; at < end && (newline = memchr(at, '\n', (size_t)(end - at))); at = newline + 1) {
		err = parse_line(&parser, bytes_over(at, (size_t)(newline - at)));
		if (err)
			goto out;
	}
	if (at < end)
		parser.dropped++;
	err = finish(&parser, out);
out:
	free(parser.executable.items);
	free(parser.other.items);
	buffer_close(&parser.paths);
	return err;
}

void maps_close(struct maps *m)
{
	free(m->mappings);
	free(m->paths);
	*m = (struct maps){0};
}

static const struct process_mapping *search(const struct process_mapping *items, size_t count,
					    uint64_t address)
{
	size_t low = 0, high = count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (address < items[middle].start)
			high = middle;
		else if (address >= items[middle].limit)
			low = middle + 1;
		else
			return &items[middle];
	}
	return NULL;
}

const struct process_mapping *maps_find(const struct maps *m, uint64_t address)
{
	const struct process_mapping *found;

	found = search(m->mappings, m->executable_count, address);
	if (found || m->count == m->executable_count)
		return found;
	return search(m->mappings + m->executable_count, m->count - m->executable_count, address);
}
