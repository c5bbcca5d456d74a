/* SPDX-License-Identifier: Apache-2.0 */
/* Private to process: the structure behind struct process and the ways to its files. */
#ifndef PROCESS_PROCESS_PRIVATE_H
#define PROCESS_PROCESS_PRIVATE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "process/maps.h"
#include "process/process.h"

struct buffer;

struct process {
	pid_t pid;
	int directory; /* of /proc/PID: reads through it fail once the process is gone */
	int pidfd;     /* -1 before Linux 5.3 */
	uint64_t start_ticks;
	char comm[64];
	char *executable;
	struct maps maps;
};

/* Appends a whole file of /proc/PID, up to the buffer's cap; what goes beyond is left out. */
int process_read_file(const struct process *p, const char *name, struct buffer *to);
/* Opens `name` below a directory for reading; anything but a regular file is -EINVAL. */
int process_open_regular(int directory, const char *name);

#endif
