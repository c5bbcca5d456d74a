/* SPDX-License-Identifier: Apache-2.0 */
/* Attribute by attribute; the process's number is in it, so that no two share a resource. */
#include "agent/target_identity.h"

#include <stdlib.h>

#include "process/identity.h"
#include "profile/profile.h"

static void describe(const struct identity *id, struct resource_attribute *to)
{
	for (size_t i = 0; i < id->count; i++)
		to[i] = (struct resource_attribute){
			.key = id->attributes[i].key,
			.value = id->attributes[i].value,
			.number = id->attributes[i].is_integer
					  ? strtoll(id->attributes[i].value, NULL, 10)
					  : 0,
			.is_integer = id->attributes[i].is_integer,
		};
}

uint32_t target_identity_add(struct profile *p, const struct identity *id)
{
	struct resource_attribute attributes[IDENTITY_ATTRIBUTES_MAX];

	describe(id, attributes);
	return profile_add_resource(p, attributes, id->count);
}

void target_identity_rename(struct profile *p, const struct identity *was,
			    const struct identity *is)
{
	struct resource_attribute before[IDENTITY_ATTRIBUTES_MAX], now[IDENTITY_ATTRIBUTES_MAX];

	describe(was, before);
	describe(is, now);
	/* Without room, or where nothing was seen of it, all is as it was. */
	(void)profile_rename_resource(p, before, was->count, now, is->count);
}
