/* SPDX-License-Identifier: Apache-2.0 */
/* Which processes of this host are there to profile. */
#ifndef PROCESS_DISCOVERY_H
#define PROCESS_DISCOVERY_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct discovery_filter {
	const char *const *include; /* globs; none: every executable */
	size_t include_count;
	const char *const *exclude; /* globs; they win over include */
	size_t exclude_count;
};

/*
 * Calls `each` for every process of /proc in pid order but kernel threads, dead ones and this
 * process itself. A result other than 0 ends the scan and is returned; a negative errno else.
 */
int discovery_scan(int (*each)(void *context, pid_t pid), void *context);
/* Daemons a node cannot do without: sampled, but without span probes unless asked for by name. */
bool discovery_is_system_daemon(const char *executable);
/* A glob matches the whole path or its last part; " (deleted)" behind the path is ignored. */
bool discovery_matches(const char *glob, const char *executable);
bool discovery_is_selected(const struct discovery_filter *filter, const char *executable);

#endif
