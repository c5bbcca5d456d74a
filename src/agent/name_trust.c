/* SPDX-License-Identifier: Apache-2.0 */
/* Hashes in sets of four, the oldest of which gives way. */
#include "agent/name_trust.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/handle_index.h"
#include "base/string_clean.h"

#define SETS	      1024 /* a power of two */
#define WAYS	      4
#define CUT_FROM      64 /* bytes; shorter names are whole */
#define CHARACTER_MAX 4	 /* bytes */

/* A name, and where it was read first. */
struct heard {
	uint64_t hash;	  /* 0: free */
	uint64_t address; /* 0: known to be one */
};

struct name_trust {
	struct heard sets[SETS][WAYS]; /* newest first */
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
	const uint64_t parts[2] = {handle_hash(name, size), generation};

	return handle_hash(parts, sizeof(parts)) | 1;
}

static struct heard *set_of(struct name_trust *t, uint64_t hash)
{
	return t->sets[hash >> 1 & (SETS - 1)];
}

static struct heard *find(struct name_trust *t, uint64_t hash)
{
	struct heard *set = set_of(t, hash);

	for (int i = 0; i < WAYS; i++)
		if (set[i].hash == hash)
			return &set[i];
	return NULL;
}

static void put(struct name_trust *t, uint64_t hash, uint64_t address)
{
	struct heard *set = set_of(t, hash);

	memmove(&set[1], &set[0], (WAYS - 1) * sizeof(*set));
	set[0] = (struct heard){hash, address};
}

void name_trust_add(struct name_trust *t, uint32_t generation, const char *name, size_t size)
{
	uint64_t hash = hash_of(generation, name, size);
	struct heard *known = find(t, hash);

	if (known)
		known->address = 0;
	else if (size)
		put(t, hash, 0);
}

/* Memory that was given to others holds numbers and zeros. A long name may end amid a character. */
static bool is_text(const char *name, size_t size)
{
	size_t whole = size;

	if (size >= CUT_FROM)
		while (size - whole < CHARACTER_MAX && (uint8_t)name[whole - 1] >= 0x80)
			whole--;
	return string_is_clean(name, whole);
}

bool name_trust_believe(struct name_trust *t, uint32_t generation, const char *name, size_t size,
			uint64_t address, bool just_ended)
{
	uint64_t hash = hash_of(generation, name, size);
	struct heard *known = find(t, hash);

	if (known && !known->address)
		return true;
	if (!just_ended || !is_text(name, size))
		return false;
	if (!known && size)
		put(t, hash, address);
	else if (known && known->address != address) /* else it may be the same garbage again */
		known->address = 0;
	return true;
}
