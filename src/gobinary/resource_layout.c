/* SPDX-License-Identifier: Apache-2.0 */
/* Field by field, from one structure of the SDK to the next; see resource_layout.h. */
#include "gobinary/resource_layout.h"

#include <errno.h>
#include <stddef.h>

#include "gobinary/rtypes.h"

#define MAX_OFFSET     4096 /* nothing that is read lies further in */
#define MAX_PAIR_BYTES 256

struct search {
	struct elf_image *image;
	const struct moduledata *module;
};

static bool is_sane(uint16_t offset)
{
	return offset <= MAX_OFFSET && !(offset & 7);
}

/* The structure of that name to which a field points. */
static int follow(const struct search *s, uint64_t *type, const char *field, const char *name,
		  uint16_t *offset)
{
	uint64_t pointer, element;
	int err = rtypes_find_field(s->image, *type, field, offset, &pointer);

	if (!err)
		err = rtypes_get_element(s->image, pointer, &element);
	if (err)
		return err;
	if (!is_sane(*offset) || !rtypes_is_structure(s->image, s->module, element, name))
		return -EINVAL;
	*type = element;
	return 0;
}

/* Which field of a set holds its attributes depends on the version; they stand in an interface. */
static int find_set(const struct search *s, uint64_t resource, uint16_t *offset)
{
	uint16_t set = 0, interface = 0;
	uint64_t set_type;
	int err = rtypes_find_field(s->image, resource, "attrs", &set, &set_type);

	if (!err && !rtypes_is_structure(s->image, s->module, set_type, "attribute.Set"))
		err = -EINVAL;
	if (!err)
		err = rtypes_find_interface(s->image, set_type, &interface);
	if (!err && !(is_sane(set) && is_sane(interface)))
		err = -EINVAL;
	*offset = (uint16_t)(set + interface);
	return err;
}

static int find_pair(const struct search *s, uint64_t type, struct go_resource_layout *out)
{
	uint64_t size;
	int err = rtypes_get_size(s->image, type, &size);

	if (!err)
		err = rtypes_find_field(s->image, type, "Key", &out->key, NULL);
	if (!err)
		err = rtypes_find_nested(s->image, type, "Value", "vtype", &out->value_type);
	if (!err)
		err = rtypes_find_nested(s->image, type, "Value", "stringly", &out->value_text);
	if (err)
		return err;
	if (size > MAX_PAIR_BYTES || size & 7 || !is_sane(out->key) || !is_sane(out->value_type) ||
	    !is_sane(out->value_text) || out->key + 16u > size || out->value_type + 8u > size ||
	    out->value_text + 16u > size)
		return -EINVAL;
	out->pair_size = (uint16_t)size;
	out->pair_type = type;
	return 0;
}

void resource_layout_find(struct elf_image *image, const struct moduledata *module,
			  uint64_t span_type, uint64_t pair_type, struct go_resource_layout *out)
{
	const struct search s = {image, module};
	uint64_t type = span_type;
	int err = span_type && pair_type ? 0 : -ENOENT;

	*out = (struct go_resource_layout){0};
	if (!err)
		err = follow(&s, &type, "tracer", "trace.tracer", &out->tracer);
	if (!err)
		err = follow(&s, &type, "provider", "trace.TracerProvider", &out->provider);
	if (!err)
		err = follow(&s, &type, "resource", "resource.Resource", &out->resource);
	if (!err)
		err = find_set(&s, type, &out->set);
	if (!err)
		err = find_pair(&s, pair_type, out);
	if (err)
		*out = (struct go_resource_layout){0};
}
