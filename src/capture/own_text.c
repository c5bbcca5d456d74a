/* SPDX-License-Identifier: Apache-2.0 */
/* By our own mappings; see own_text.h. */
#include "capture/own_text.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

int own_text_offset(const void *address, uint64_t *offset)
{
	uint64_t start, end, at, wanted = (uint64_t)(uintptr_t)address;
	FILE *file = fopen("/proc/self/maps", "re");
	int error = -ENOENT;
	char line[512];

	if (!file)
		return -errno;
	while (error && fgets(line, sizeof(line), file)) {
		if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %*s %" SCNx64, &start, &end, &at) != 3)
			continue;
		if (wanted >= start && wanted < end) {
			*offset = wanted - start + at;
			error = 0;
		}
	}
	fclose(file);
	return error;
}
