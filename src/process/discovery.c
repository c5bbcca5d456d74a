/* SPDX-License-Identifier: Apache-2.0 */
/* The processes of this host, told apart cheaply; see discovery.h. */
#include "process/discovery.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fnmatch.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "process/proc_stat.h"
#include "process/process.h"

#define PIDS_MAX (1 << 20)

/* Appends a pid to a growing array; over the cap it is left out. */
static int add_pid(pid_t **pids, size_t *count, pid_t pid)
{
	pid_t *grown;

	if (*count == PIDS_MAX)
		return 0;
	if (!(*count & (*count - 1))) {
		grown = reallocarray(*pids, *count ? *count * 2 : 1, sizeof(**pids));
		if (!grown)
			return -ENOMEM;
		*pids = grown;
	}
	(*pids)[(*count)++] = pid;
	return 0;
}

static int compare_pids(const void *a, const void *b)
{
	pid_t left = *(const pid_t *)a, right = *(const pid_t *)b;

	return left < right ? -1 : left > right;
}

/* All pids first, so that `each` may take its time without holding a place in /proc. */
static int list_pids(DIR *proc, pid_t **pids, size_t *count)
{
	struct dirent *entry;

	while ((entry = readdir(proc))) {
		int err;

		if (!isdigit((unsigned char)entry->d_name[0]))
			continue;
		err = add_pid(pids, count, (pid_t)strtol(entry->d_name, NULL, 10));
		if (err)
			return err;
	}
	if (*count)
		qsort(*pids, *count, sizeof(**pids), compare_pids);
	return 0;
}

static bool is_wanted(int proc, pid_t pid)
{
	struct proc_stat stat;
	char path[32];

	if (pid == getpid())
		return false;
	snprintf(path, sizeof(path), "%d/stat", pid);
	if (proc_stat_read(proc, path, &stat))
		return false;
	return !proc_stat_is_kernel_thread(&stat) && !proc_stat_is_dead(&stat);
}

int discovery_scan(int (*each)(void *context, pid_t pid), void *context)
{
	DIR *proc = opendir("/proc");
	pid_t *pids = NULL;
	size_t count = 0;
	int result;

	if (!proc)
		return -errno;
	result = list_pids(proc, &pids, &count);
	for (size_t i = 0; !result && i < count; i++)
		if (is_wanted(dirfd(proc), pids[i]))
			result = each(context, pids[i]);
	free(pids);
	closedir(proc);
	return result;
}

/* Copies the path without the mark of a replaced file; returns its last part. */
static const char *plain_path(const char *executable, char *to, size_t size)
{
	size_t length = process_path_length(executable);
	const char *slash;

	length = length < size ? length : size - 1;
	memcpy(to, executable, length);
	to[length] = '\0';
	slash = strrchr(to, '/');
	return slash ? slash + 1 : to;
}

bool discovery_is_system_daemon(const char *executable)
{
	static const char *const globs[] = {
		"kubelet", "containerd", "containerd-shim*", "dockerd", "crio", "etcd", "kube-*"};
	char path[PATH_MAX];
	const char *name = plain_path(executable, path, sizeof(path));

	for (size_t i = 0; i < sizeof(globs) / sizeof(globs[0]); i++)
		if (!fnmatch(globs[i], name, 0))
			return true;
	return false;
}

bool discovery_matches(const char *glob, const char *executable)
{
	char path[PATH_MAX];
	const char *name = plain_path(executable, path, sizeof(path));

	return !fnmatch(glob, path, 0) || !fnmatch(glob, name, 0);
}

bool discovery_is_selected(const struct discovery_filter *filter, const char *executable)
{
	for (size_t i = 0; i < filter->exclude_count; i++)
		if (discovery_matches(filter->exclude[i], executable))
			return false;
	for (size_t i = 0; i < filter->include_count; i++)
		if (discovery_matches(filter->include[i], executable))
			return true;
	return !filter->include_count;
}
