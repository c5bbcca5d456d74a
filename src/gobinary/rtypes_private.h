/* SPDX-License-Identifier: Apache-2.0 */
/* Private to rtypes: how a descriptor lies in the file (Go: internal/abi/type.go). */
#ifndef GOBINARY_RTYPES_PRIVATE_H
#define GOBINARY_RTYPES_PRIVATE_H

#include <stddef.h>
#include <stdint.h>

struct elf_image;
struct moduledata;

/* abi.Type */
#define TYPE_BYTES	48
#define TYPE_TFLAG	20
#define TYPE_KIND	23
#define TYPE_STR	40
#define POINTER_ELEM	48
#define STRUCT_FIELDS	56
#define UNCOMMON	80 /* behind structures and interfaces alike */
#define INTERFACE_COUNT 64 /* of methods */
#define FIELD_BYTES	24
#define TFLAG_UNCOMMON	1
#define TFLAG_STAR	2 /* the name is the one of the pointer to the type */
#define KIND_MASK	31
#define KIND_INTERFACE	20
#define KIND_POINTER	22
#define KIND_STRUCT	25

/* Of the names that are asked for, with room for the end mark. */
#define RTYPE_NAME_BYTES 64

/* The text of a name in either encoding. -EINVAL when the buffer is too small. */
int rtypes_read_name(struct elf_image *image, uint64_t address, char *to, size_t size);
/* The package of the named type at `type` when it is of that kind. */
int rtypes_read_package(struct elf_image *image, const struct moduledata *module, uint64_t type,
			uint8_t kind, char *package, size_t size);

#endif
