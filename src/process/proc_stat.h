/* SPDX-License-Identifier: Apache-2.0 */
/* Private to process: one line of /proc/PID/stat. */
#ifndef PROCESS_PROC_STAT_H
#define PROCESS_PROC_STAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct proc_stat {
	char comm[64]; /* cleaned */
	char state;    /* 'R', 'S', 'Z' … */
	uint32_t flags;
	uint64_t threads;
	uint64_t cpu_ticks; /* user and system time of all its threads */
	uint64_t start_ticks;
};

/* -EINVAL when fields are missing. */
int proc_stat_parse(const char *text, size_t size, struct proc_stat *out);
/* Reads and parses `path` below a directory. -ESRCH gone. */
int proc_stat_read(int directory, const char *path, struct proc_stat *out);
bool proc_stat_is_kernel_thread(const struct proc_stat *stat);
/* A leader that ended while other threads run is a zombie too, but its process is not dead. */
bool proc_stat_is_dead(const struct proc_stat *stat);

#endif
