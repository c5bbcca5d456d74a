/* SPDX-License-Identifier: Apache-2.0 */
/* Private to process: the text of /proc/PID/maps as mappings. */
#ifndef PROCESS_MAPS_H
#define PROCESS_MAPS_H

#include <stddef.h>
#include <stdint.h>

#include "process/process.h"

#define MAPS_COUNT_MAX	65536 /* vm.max_map_count as distributed is 65,530 */
#define MAPS_PATHS_MAX	(4 << 20)
#define MAPS_TEXT_BYTES (16 << 20)

struct maps {
	struct process_mapping *mappings; /* executable ones first, each part by address */
	size_t count;
	size_t executable_count;
	char *paths;	  /* what the mappings' paths point into */
	uint64_t dropped; /* lines that are malformed, out of order or over a cap */
};

/* -ENOMEM. A line counts only when it ends with a newline. */
int maps_parse(const void *text, size_t size, struct maps *out);
void maps_close(struct maps *m);
/* NULL unknown. */
const struct process_mapping *maps_find(const struct maps *m, uint64_t address);

#endif
