/* SPDX-License-Identifier: Apache-2.0 */
/* Any memory behind a span and a variable: the way to a resource, and what that says. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "gobinary/gobinary.h"
#include "process/identity.h"
#include "process/process.h"
#include "process/span_resource.h"

#define MEMORY	     0x200000000000ull /* where the seeds' pointers lead to */
#define MEMORY_BYTES 65536

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const struct span_resource *r, const struct identity *id)
{
	if (!r->address || r->pair_count >= 4096 || id->count > 6)
		abort();
	for (size_t i = 0; i < id->count; i++) {
		const struct identity_attribute *a = &id->attributes[i];

		if (!memchr(a->key, 0, sizeof(a->key)) || !memchr(a->value, 0, sizeof(a->value)) ||
		    !a->value[0] || a->is_integer)
			abort();
		for (const char *c = a->value; *c; c++)
			if ((unsigned char)*c < ' ')
				abort();
	}
}

static uint8_t *take_memory(void)
{
	static uint8_t *memory;

	if (!memory)
		memory = mmap((void *)(uintptr_t)MEMORY, MEMORY_BYTES, PROT_READ | PROT_WRITE,
			      MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	if (memory == MAP_FAILED)
		abort();
	memset(memory, 0, MEMORY_BYTES);
	return memory;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct go_resource_layout at = {
		.tracer = 8,
		.resource = 16,
		.set = 8,
		.value_type = 16,
		.value_text = 32,
		.pair_size = 64,
		.pair_type = 0x18,
		.global_count = 1,
		.globals = {0x10},
		.holder_type = 0x28,
		.provider_type = 0x38,
	};
	static struct process *self;
	struct span_resource resource;
	struct identity id;

	if (!self && process_open(getpid(), &self))
		abort();
	memcpy(take_memory(), data, size < MEMORY_BYTES ? size : MEMORY_BYTES);
	for (uint64_t span = 0; span <= MEMORY; span += MEMORY)
		if (!span_resource_find(self, &at, MEMORY, span, &resource) &&
		    !span_resource_read(self, &at, &resource, &id))
			check(&resource, &id);
	return 0;
}
