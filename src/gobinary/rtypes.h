/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Go's type descriptors, which every executable carries, stripped or not: structures by name and
 * their fields' offsets by name.
 */
#ifndef GOBINARY_RTYPES_H
#define GOBINARY_RTYPES_H

#include <stddef.h>
#include <stdint.h>

struct elf_image;
struct moduledata;

#define RTYPE_PACKAGE_BYTES 512

/* A structure looked for, and what was found. */
struct rtype_query {
	const char *name;    /* package name and type: "runtime.g" */
	const char *package; /* import path, also accepted behind ".../vendor/" */
	uint64_t type;	     /* result: address of the structure's descriptor; 0 none */
	uint64_t pointer;    /* result: of the descriptor of the pointer to it; 0 none */
	char found[RTYPE_PACKAGE_BYTES]; /* result: the import path as it stands in the file */
};

/*
 * Scans the types for up to 8 structures, twice in all. 0 also when some were not found. -EINVAL
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

#endif
