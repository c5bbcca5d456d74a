/* SPDX-License-Identifier: Apache-2.0 */
/* Which attribute of a resource names the service. */
#include "format/service.h"

#include <string.h>

#include "base/string_table.h"
#include "profile/profile.h"

uint32_t format_service_of(const struct profile *p, const struct profile_view *view,
			   uint32_t resource)
{
	const struct profile_resource *row = &view->resources[resource];

	for (uint32_t i = 0; i < row->attribute_count; i++) {
		const struct profile_attribute *a = &view->attributes[row->first_attribute + i];

		if (!a->is_integer &&
		    !strcmp(string_table_get(profile_get_strings(p), a->key), "service.name"))
			return a->value;
	}
	return 0;
}
