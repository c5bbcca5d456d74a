/* SPDX-License-Identifier: Apache-2.0 */
/* A line of /proc/PID/stat, in which the name of the process is its own. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "process/proc_stat.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct proc_stat stat;

	if (!proc_stat_parse((const char *)data, size, &stat) &&
	    !memchr(stat.comm, 0, sizeof(stat.comm)))
		abort();
	return 0;
}
