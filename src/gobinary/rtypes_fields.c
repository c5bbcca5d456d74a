/* SPDX-License-Identifier: Apache-2.0 */
/* What a type descriptor says of the type: its fields, its name, what it points to. */
#include "gobinary/rtypes.h"

#include <errno.h>
#include <string.h>

#include "gobinary/elf_image.h"
#include "gobinary/moduledata.h"
#include "gobinary/rtypes_private.h"

#define MAX_FIELDS 512
#define MAX_DEPTH  4
#define MAX_INNER  16 /* fields of a structure that is looked through */

struct field {
	uint64_t name, type, offset;
};

static int read_field(struct elf_image *image, uint64_t address, struct field *f)
{
	int err = elf_image_read_word(image, address, &f->name);

	if (!err)
		err = elf_image_read_word(image, address + 8, &f->type);
	if (!err)
		err = elf_image_read(image, address + 16, &f->offset, sizeof(f->offset));
	return err;
}

struct structure {
	uint64_t size, fields, count;
};

static int read_structure(struct elf_image *image, uint64_t type, struct structure *s)
{
	uint8_t head[TYPE_BYTES];
	int err = elf_image_read(image, type, head, sizeof(head));

	if (!err)
		err = elf_image_read_word(image, type + STRUCT_FIELDS, &s->fields);
	if (!err)
		err = elf_image_read(image, type + STRUCT_FIELDS + 8, &s->count, sizeof(s->count));
	if (err || (head[TYPE_KIND] & KIND_MASK) != KIND_STRUCT || !s->count ||
	    s->count > MAX_FIELDS)
		return err && err != -ERANGE ? err : -EINVAL;
	memcpy(&s->size, head, sizeof(s->size));
	return 0;
}

/*
 * Up to Go 1.18 the word is offset << 1 | embedded. Then the last field seems to end past the
 * structure's end; where its type cannot be read, to start there.
 */
static uint64_t offset_shift(struct elf_image *image, const struct structure *s,
			     const struct field *last)
{
	uint64_t size;

	if (elf_image_read(image, last->type, &size, sizeof(size)) || !size)
		size = 1;
	return last->offset >= s->size || size > s->size - last->offset;
}

int rtypes_find_field(struct elf_image *image, uint64_t type, const char *name, uint16_t *offset,
		      uint64_t *field_type)
{
	struct structure s;
	struct field f = {0};
	char text[RTYPE_NAME_BYTES];
	size_t size = strlen(name) + 1;
	uint64_t shift;
	int err = read_structure(image, type, &s);

	if (err || size > sizeof(text))
		return err ? err : -EINVAL;
	err = read_field(image, s.fields + (s.count - 1) * FIELD_BYTES, &f);
	shift = offset_shift(image, &s, &f);
	for (uint64_t i = 0; !err && i < s.count; i++) {
		uint64_t at = s.fields + i * FIELD_BYTES;

		/* Of the other fields as little as can be: g has 60 before the last one wanted. */
		err = elf_image_read_word(image, at, &f.name);
		if (err || rtypes_read_name(image, f.name, text, size) || strcmp(text, name))
			continue;
		err = read_field(image, at, &f);
		if (err)
			break;
		f.offset >>= shift;
		if (f.offset >= s.size || f.offset > UINT16_MAX)
			return -EINVAL;
		if (offset)
			*offset = (uint16_t)f.offset;
		if (field_type)
			*field_type = f.type;
		return 0;
	}
	return err && err != -ERANGE ? err : -ENOENT;
}

int rtypes_find_nested(struct elf_image *image, uint64_t type, const char *outer, const char *inner,
		       uint16_t *offset)
{
	uint16_t outer_offset, inner_offset;
	uint64_t outer_type;
	int err = rtypes_find_field(image, type, outer, &outer_offset, &outer_type);

	if (!err)
		err = rtypes_find_field(image, outer_type, inner, &inner_offset, NULL);
	if (err)
		return err;
	if (outer_offset + inner_offset > UINT16_MAX)
		return -EINVAL;
	*offset = (uint16_t)(outer_offset + inner_offset);
	return 0;
}

bool rtypes_begins_with(struct elf_image *image, const struct moduledata *module, uint64_t type,
			const char *package, uint64_t first)
{
	char found[RTYPE_PACKAGE_BYTES];
	uint8_t head[TYPE_BYTES];

	if (elf_image_read(image, type, head, sizeof(head)))
		return false;
	if ((head[TYPE_KIND] & KIND_MASK) == KIND_POINTER &&
	    elf_image_read_word(image, type + POINTER_ELEM, &type))
		return false;
	if (rtypes_read_package(image, module, type, KIND_STRUCT, found, sizeof(found)) ||
	    strcmp(found, package))
		return false;
	for (int depth = 0; depth < MAX_DEPTH && type != first; depth++) {
		struct structure s;
		struct field f;

		/* An offset of 0 also with Go 1.18's bit for an embedded field. */
		if (read_structure(image, type, &s) || read_field(image, s.fields, &f) ||
		    f.offset > 1)
			return false;
		type = f.type;
	}
	return type == first;
}

int rtypes_get_element(struct elf_image *image, uint64_t type, uint64_t *element)
{
	uint8_t head[TYPE_BYTES];
	int err = elf_image_read(image, type, head, sizeof(head));

	if (!err && (head[TYPE_KIND] & KIND_MASK) != KIND_POINTER)
		err = -EINVAL;
	if (!err)
		err = elf_image_read_word(image, type + POINTER_ELEM, element);
	return err == -ERANGE ? -EINVAL : err;
}

int rtypes_get_size(struct elf_image *image, uint64_t type, uint64_t *size)
{
	struct structure s;
	int err = read_structure(image, type, &s);

	*size = err ? 0 : s.size;
	return err;
}

bool rtypes_is_structure(struct elf_image *image, const struct moduledata *module, uint64_t type,
			 const char *name)
{
	char text[RTYPE_NAME_BYTES + 1];
	uint8_t head[TYPE_BYTES];
	uint32_t offset;

	if (elf_image_read(image, type, head, sizeof(head)) ||
	    (head[TYPE_KIND] & KIND_MASK) != KIND_STRUCT)
		return false;
	memcpy(&offset, head + TYPE_STR, sizeof(offset));
	return !rtypes_read_name(image, module->types + offset, text, sizeof(text)) &&
	       !strcmp(text + (head[TYPE_TFLAG] & TFLAG_STAR && text[0] == '*'), name);
}

/* Counts the empty interfaces in a structure whose place is `offset`; the last one's is told. */
static int count_interfaces(struct elf_image *image, uint64_t type, uint64_t offset, int depth,
			    uint64_t *place)
{
	struct structure s;
	struct field f = {0};
	uint64_t shift;
	int count = 0;

	if (depth == MAX_DEPTH || read_structure(image, type, &s) || s.count > MAX_INNER ||
	    read_field(image, s.fields + (s.count - 1) * FIELD_BYTES, &f))
		return 0;
	shift = offset_shift(image, &s, &f);
	for (uint64_t i = 0; i < s.count; i++) {
		uint8_t head[TYPE_BYTES];
		uint64_t methods, at;

		if (read_field(image, s.fields + i * FIELD_BYTES, &f) ||
		    elf_image_read(image, f.type, head, sizeof(head)))
			continue;
		at = offset + (f.offset >> shift);
		if ((head[TYPE_KIND] & KIND_MASK) == KIND_STRUCT) {
			count += count_interfaces(image, f.type, at, depth + 1, place);
		} else if ((head[TYPE_KIND] & KIND_MASK) == KIND_INTERFACE &&
			   !elf_image_read(image, f.type + INTERFACE_COUNT, &methods,
					   sizeof(methods)) &&
			   !methods) {
			*place = at;
			count++;
		}
	}
	return count;
}

int rtypes_find_interface(struct elf_image *image, uint64_t type, uint16_t *offset)
{
	uint64_t place = 0;

	if (count_interfaces(image, type, 0, 0, &place) != 1)
		return -ENOENT;
	if (place > UINT16_MAX)
		return -EINVAL;
	*offset = (uint16_t)place;
	return 0;
}
