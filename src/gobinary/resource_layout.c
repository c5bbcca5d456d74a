/* SPDX-License-Identifier: Apache-2.0 */
/* Field by field, from one structure of the SDK to the next; see resource_layout.h. */
#include "gobinary/resource_layout.h"

#include <errno.h>
#include <stddef.h>

#include "gobinary/code_operands.h"
#include "gobinary/elf_image.h"
#include "gobinary/moduledata.h"
#include "gobinary/rtypes.h"

#define MAX_OFFSET     4096 /* nothing that is read lies further in */
#define MAX_PAIR_BYTES 256
#define MAX_CODE_BYTES 1024 /* it takes some 500 */
#define MAX_VARIABLES  32

struct search {
	struct elf_image *image;
	const struct moduledata *module;
};

static bool is_sane(uint16_t offset)
{
	return offset <= MAX_OFFSET && !(offset & 7);
}

/* The structure of that name to which a field points; in `*pointer` the field's own type. */
static int follow(const struct search *s, uint64_t *type, const char *field, const char *name,
		  uint16_t *offset, uint64_t *pointer)
{
	uint64_t element;
	int err = rtypes_find_field(s->image, *type, field, offset, pointer);

	if (!err)
		err = rtypes_get_element(s->image, *pointer, &element);
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
			  const struct resource_layout_types *types, struct go_resource_layout *out)
{
	const struct search s = {image, module};
	uint64_t type = types->span, pointer;
	int err = types->span && types->pair ? 0 : -ENOENT;

	*out = (struct go_resource_layout){0};
	if (!err)
		err = follow(&s, &type, "tracer", "trace.tracer", &out->tracer, &pointer);
	if (!err)
		err = follow(&s, &type, "provider", "trace.TracerProvider", &out->provider,
			     &out->provider_type);
	if (!err)
		err = follow(&s, &type, "resource", "resource.Resource", &out->resource, &pointer);
	if (!err)
		err = find_set(&s, type, &out->set);
	if (!err)
		err = find_pair(&s, types->pair, out);
	out->holder_type = types->holder;
	if (err)
		*out = (struct go_resource_layout){0};
}

static void add_global(const struct moduledata *module, uint64_t address,
		       struct go_resource_layout *out)
{
	if (address & 7 || address < module->data || address >= module->ebss ||
	    out->global_count == GO_GLOBALS_MAX)
		return;
	for (size_t i = 0; i < out->global_count; i++)
		if (out->globals[i] == address)
			return;
	out->globals[out->global_count++] = address;
}

void resource_layout_find_globals(struct elf_image *image, const struct moduledata *module,
				  const struct go_function_range functions[FUNCTION_COUNT],
				  struct go_resource_layout *out)
{
	const struct go_function_range *f = &functions[FUNCTION_SET_PROVIDER];
	uint64_t size = f->end - f->start, variables[MAX_VARIABLES];
	uint8_t code[MAX_CODE_BYTES];
	size_t count;

	if (!f->start || !out->holder_type || elf_image_machine(image) != code_operands_machine)
		return;
	if (size > sizeof(code))
		size = sizeof(code);
	if (elf_image_read(image, f->start, code, size))
		return;
	count = code_operands_variables(code, size, f->start, variables, MAX_VARIABLES);
	for (size_t i = 0; i < count; i++)
		add_global(module, variables[i], out);
}
