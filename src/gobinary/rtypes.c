/* SPDX-License-Identifier: Apache-2.0 */
/* Type descriptors as internal/abi/type.go lays them out; see rtypes.h. */
#include "gobinary/rtypes.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "gobinary/elf_image.h"
#include "gobinary/moduledata.h"
#include "gobinary/rtypes_private.h"

#define MAX_QUERIES	8
#define MAX_TYPES_BYTES ((uint64_t)64 << 20) /* Debian's prometheus: 13 MB */
/* Larger than a cache block, so that a scan goes past the cache. */
#define SCAN_BYTES ((size_t)131072)
/* What is kept of one piece for the next: more than a name or a descriptor's head. */
#define OVERLAP 128

/* A name as the file has it: pointer types and their elements share "*runtime.g". */
struct wanted {
	char text[RTYPE_NAME_BYTES];
	size_t length;
	uint32_t name_offset; /* from moduledata.types; 0 not found yet */
};

struct scan {
	struct elf_image *image;
	const struct moduledata *module;
	struct rtype_query *queries;
	struct wanted wanted[MAX_QUERIES];
	size_t count;
	uint64_t lengths; /* a bit for each wanted name's, all below RTYPE_NAME_BYTES */
};

/* Calls `each` for pieces of the types; a piece starts OVERLAP bytes before the last one's end. */
static int scan_types(struct scan *s, int (*each)(struct scan *s, uint64_t address,
						  const uint8_t *data, size_t size))
{
	uint64_t at = s->module->types, end = s->module->etypes;
	uint8_t *data = malloc(SCAN_BYTES);
	int err = data ? 0 : -ENOMEM;

	while (!err && at < end) {
		size_t size = end - at < SCAN_BYTES ? (size_t)(end - at) : SCAN_BYTES;

		err = elf_image_read(s->image, at, data, size);
		if (!err)
			err = each(s, at, data, size);
		if (size < SCAN_BYTES)
			break;
		at += size - OVERLAP;
	}
	free(data);
	return err;
}

/*
 * A name: flag byte, length, text. The length is a varint, below 128 here; up to Go 1.16 it is
 * two bytes, high byte first, so that the flags lie one byte further back.
 */
static int find_names(struct scan *s, uint64_t address, const uint8_t *data, size_t size)
{
	const uint8_t *p = data, *end = data + size;

	for (; (p = memchr(p, '*', (size_t)(end - p))); p++) {
		if (p - data < 3 || p[-1] >= RTYPE_NAME_BYTES || !(s->lengths >> p[-1] & 1))
			continue;
		for (size_t i = 0; i < s->count; i++) {
			struct wanted *w = &s->wanted[i];

			if (p[-1] != w->length || (size_t)(end - p) < w->length ||
			    memcmp(p, w->text, w->length) || w->name_offset)
				continue;
			w->name_offset =
				(uint32_t)(address + (uint64_t)(p - data) - 2 - s->module->types);
		}
	}
	return 0;
}

static int read_u32(struct elf_image *image, uint64_t address, uint32_t *value)
{
	return elf_image_read(image, address, value, sizeof(*value));
}

int rtypes_read_name(struct elf_image *image, uint64_t address, char *to, size_t size)
{
	uint8_t head[4] = {0};
	size_t length, skip = 2;
	int err = elf_image_read(image, address, head, 3);

	if (err)
		return err;
	length = head[1];
	if (!head[1]) {
		length = head[2]; /* Go 1.16 and before; names over 255 are not asked for */
		skip = 3;
	} else if (head[1] & 0x80) {
		length = (head[1] & 0x7f) | (size_t)head[2] << 7;
		skip = 3;
	}
	if (length >= size)
		return -EINVAL;
	err = elf_image_read(image, address + skip, to, length);
	to[err ? 0 : length] = '\0';
	return err;
}

static bool package_matches(const char *found, const char *wanted)
{
	size_t have = strlen(found), want = strlen(wanted);
	const char *behind = found + have - want;

	if (have < want || strcmp(behind, wanted))
		return false;
	return have == want || (have - want >= 8 && !memcmp(behind - 8, "/vendor/", 8)) ||
	       (have - want == 7 && !memcmp(found, "vendor/", 7));
}

int rtypes_read_package(struct elf_image *image, const struct moduledata *module, uint64_t type,
			uint8_t kind, char *package, size_t size)
{
	uint8_t head[TYPE_BYTES];
	uint32_t path;

	if (type < module->types || type >= module->etypes ||
	    elf_image_read(image, type, head, sizeof(head)) ||
	    (head[TYPE_KIND] & KIND_MASK) != kind || !(head[TYPE_TFLAG] & TFLAG_UNCOMMON) ||
	    read_u32(image, type + UNCOMMON, &path))
		return -EINVAL;
	return rtypes_read_name(image, module->types + path, package, size);
}

/* Takes the type at `type` when its kind and package are those of the query. */
static void try_type(struct scan *s, size_t index, uint64_t type, uint64_t pointer)
{
	struct rtype_query *q = &s->queries[index];
	char package[RTYPE_PACKAGE_BYTES];

	if (rtypes_read_package(s->image, s->module, type,
				q->interface ? KIND_INTERFACE : KIND_STRUCT, package,
				sizeof(package)) ||
	    !package_matches(package, q->package))
		return;
	if (q->type && q->type != type) {
		/* Of two copies the unvendored one wins. */
		if (strlen(package) >= strlen(q->found))
			return;
		q->pointer = 0;
	}
	q->type = type;
	if (pointer)
		q->pointer = pointer;
	memcpy(q->found, package, sizeof(package));
}

/* Descriptors are 8-aligned; the type's own one or that of the pointer to it will do. */
static int find_types(struct scan *s, uint64_t address, const uint8_t *data, size_t size)
{
	for (size_t i = 0; i + TYPE_BYTES + 8 <= size; i += 8) {
		uint64_t elem;
		uint32_t name;
		uint8_t kind = data[i + TYPE_KIND] & KIND_MASK;

		memcpy(&name, data + i + TYPE_STR, sizeof(name));
		if (kind != KIND_POINTER && kind != KIND_STRUCT && kind != KIND_INTERFACE)
			continue;
		for (size_t w = 0; w < s->count; w++) {
			uint32_t wanted = s->wanted[w].name_offset;

			/* Both encodings of the name: flags two or three bytes before it. */
			if (!wanted || (name != wanted && name + 1 != wanted))
				continue;
			if (kind != KIND_POINTER)
				try_type(s, w, address + i, 0);
			else if (!elf_image_read_word(s->image, address + i + POINTER_ELEM, &elem))
				try_type(s, w, elem, address + i);
		}
	}
	return 0;
}

int rtypes_find(struct elf_image *image, const struct moduledata *module,
		struct rtype_query *queries, size_t count)
{
	struct scan s = {.image = image, .module = module, .queries = queries, .count = count};
	int err;

	if (count > MAX_QUERIES || module->types & 7 || module->types >= module->etypes ||
	    module->etypes - module->types > MAX_TYPES_BYTES)
		return -EINVAL;
	for (size_t i = 0; i < count; i++) {
		struct wanted *w = &s.wanted[i];
		size_t length = strlen(queries[i].name);

		if (length + 1 >= sizeof(w->text))
			return -EINVAL;
		w->text[0] = '*';
		memcpy(w->text + 1, queries[i].name, length + 1);
		w->length = length + 1;
		s.lengths |= 1ull << w->length;
		queries[i].type = queries[i].pointer = 0;
		queries[i].found[0] = '\0';
	}
	err = scan_types(&s, find_names);
	if (!err)
		err = scan_types(&s, find_types);
	return err == -ERANGE ? -EINVAL : err;
}
