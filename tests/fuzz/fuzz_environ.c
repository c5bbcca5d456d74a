/* SPDX-License-Identifier: Apache-2.0 */
/* A target's environment. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "process/environ.h"
#include "process/identity.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct identity id = {0};

	environ_parse(data, size, &id);
	if (id.count > IDENTITY_ATTRIBUTES_MAX)
		abort();
	for (size_t i = 0; i < id.count; i++)
		if (!memchr(id.attributes[i].value, 0, sizeof(id.attributes[i].value)))
			abort();
	return 0;
}
