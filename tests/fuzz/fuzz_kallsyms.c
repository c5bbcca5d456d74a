/* SPDX-License-Identifier: Apache-2.0 */
/* The text of /proc/kallsyms. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "symbolize/kallsyms.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint64_t address = UINT64_C(0xffffffff81000000), start;
	struct kallsyms *k;

	if (kallsyms_parse(data, size, &k))
		return 0;
	if (kallsyms_is_hidden(k) && kallsyms_count(k))
		abort();
	if (size >= 8)
		memcpy(&address, data, 8);
	for (unsigned int i = 0; i < 64; i++) {
		const char *name = kallsyms_find(k, address, &start);

		if (name && (!name[0] || strlen(name) > size || start > address))
			abort();
		address += UINT64_C(1) << i;
	}
	kallsyms_close(k);
	return 0;
}
