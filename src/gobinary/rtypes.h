/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Go's type descriptors, which every executable carries, stripped or not: structures and
 * interfaces by name, and fields' offsets by name.
 */
#ifndef GOBINARY_RTYPES_H
#define GOBINARY_RTYPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct elf_image;
struct moduledata;

#define RTYPE_PACKAGE_BYTES 512

/* A type looked for, and what was found. */
struct rtype_query {
	const char *name;    /* package name and type: "runtime.g" */
	const char *package; /* import path, also accepted behind ".../vendor/" */
	bool interface;	     /* else a structure */
	uint64_t type;	     /* result: address of the type's descriptor; 0 none */
	uint64_t pointer;    /* result: of the descriptor of the pointer to it; 0 none */
	char found[RTYPE_PACKAGE_BYTES]; /* result: the import path as it stands in the file */
};

/*
 * Scans the types for up to 8 of them, twice in all. 0 also when some were not found. -EINVAL
 * implausible bounds, -ENOMEM, or what reading says.
 */
int rtypes_find(struct elf_image *image, const struct moduledata *module,
		struct rtype_query *queries, size_t count);
/*
 * Offset in bytes and type of the field `name` of the structure at `type`; either result may be
 * NULL. -ENOENT no such field, -EINVAL not a structure or malformed.
 */
int rtypes_find_field(struct elf_image *image, uint64_t type, const char *name, uint16_t *offset,
		      uint64_t *field_type);
/* The same of the field `inner` of the structure that the field `outer` is; its offset in `type`.
 */
int rtypes_find_nested(struct elf_image *image, uint64_t type, const char *outer, const char *inner,
		       uint16_t *offset);
/*
 * Whether values of the type, or what they point to, are a structure of `package` that has the
 * type `first` at its start, however deep.
 */
bool rtypes_begins_with(struct elf_image *image, const struct moduledata *module, uint64_t type,
			const char *package, uint64_t first);
/* What values of a pointer's type point to. -EINVAL no pointer. */
int rtypes_get_element(struct elf_image *image, uint64_t type, uint64_t *element);
/* Of a structure, in bytes. -EINVAL. */
int rtypes_get_size(struct elf_image *image, uint64_t type, uint64_t *size);
/* Whether the type is a structure of that name: package name and type, "trace.tracer". */
bool rtypes_is_structure(struct elf_image *image, const struct moduledata *module, uint64_t type,
			 const char *name);
/*
 * Offset in bytes of the one empty interface in the structure at `type`, however deep, under
 * whatever name. -ENOENT none, or several.
 */
int rtypes_find_interface(struct elf_image *image, uint64_t type, uint16_t *offset);

#endif
