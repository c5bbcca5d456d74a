/* SPDX-License-Identifier: Apache-2.0 */
/* The text of /proc/PID/maps and /proc/PID/stat. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "process/maps.h"
#include "process/proc_stat.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct proc_stat stat;
	struct maps maps;

	proc_stat_parse((const char *)data, size, &stat);
	if (maps_parse(data, size, &maps))
		return 0;
	for (size_t i = 0; i < maps.count; i++) {
		const struct process_mapping *m = &maps.mappings[i];

		/* Every mapping is found by its own addresses, and its path is a string. */
		if (maps_find(&maps, m->start) != m || maps_find(&maps, m->limit - 1) != m ||
		    strlen(m->path) > size * 3)
			abort();
	}
	maps_close(&maps);
	return 0;
}
