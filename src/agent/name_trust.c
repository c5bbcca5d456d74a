/* SPDX-License-Identifier: Apache-2.0 */
/* Hashes in sets of four, the oldest of which gives way. */
#include "agent/name_trust.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/handle_index.h"

#define SETS 1024 /* a power of two */
#define WAYS 4

struct name_trust {
	uint64_t hashes[SETS][WAYS]; /* newest first; 0: free */
};

int name_trust_open(struct name_trust **out)
{
	*out = calloc(1, sizeof(**out));
	return *out ? 0 : -ENOMEM;
}

void name_trust_close(struct name_trust *t)
{
	free(t);
}

static uint64_t hash_of(uint32_t generation, const char *name, size_t size)
{
	uint64_t parts[2] = {handle_hash(name, size), generation};

	return handle_hash(parts, sizeof(parts)) | 1;
}

bool name_trust_has(const struct name_trust *t, uint32_t generation, const char *name, size_t size)
{
	uint64_t hash = hash_of(generation, name, size);
	const uint64_t *set = t->hashes[hash >> 1 & (SETS - 1)];

	for (int i = 0; i < WAYS; i++)
		if (set[i] == hash)
			return true;
	return false;
}

void name_trust_add(struct name_trust *t, uint32_t generation, const char *name, size_t size)
{
	uint64_t hash = hash_of(generation, name, size);
	uint64_t *set = t->hashes[hash >> 1 & (SETS - 1)];

	if (!size || name_trust_has(t, generation, name, size))
		return;
	memmove(&set[1], &set[0], (WAYS - 1) * sizeof(*set));
	set[0] = hash;
}
