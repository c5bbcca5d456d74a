/* SPDX-License-Identifier: Apache-2.0 */
/* Which attribute of a resource is the service's name. */
#include <string.h>

#include "base/string_table.h"
#include "profile/profile_tables.h"

uint32_t profile_get_service(const struct profile *p, uint32_t resource)
{
	const struct profile_resource *row = table_row(&p->resources, resource);
	uint32_t executable = 0;

	for (uint32_t i = 0; i < row->attribute_count; i++) {
		const struct profile_attribute *a =
			table_row(&p->attributes, row->first_attribute + i);
		const char *key = string_table_get(p->strings, a->key);

		if (a->is_integer)
			continue;
		if (!strcmp(key, "service.name") && a->value)
			return a->value;
		if (!strcmp(key, "process.executable.name"))
			executable = a->value;
	}
	return executable;
}
