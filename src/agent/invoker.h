/* SPDX-License-Identifier: Apache-2.0 */
/* The person behind sudo: files are theirs, and a COMMAND runs as them. */
#ifndef AGENT_INVOKER_H
#define AGENT_INVOKER_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#define INVOKER_GROUPS_MAX 1024

/* A user as a process needs it; `known` false: nobody behind sudo, nothing changes. */
struct invoker {
	bool known;
	uid_t uid;
	gid_t gid;
	gid_t groups[INVOKER_GROUPS_MAX];
	size_t group_count;
	char name[LOGIN_NAME_MAX]; /* "" none */
	char home[PATH_MAX];	   /* "" none */
};

/* Gives an open file to SUDO_UID/SUDO_GID, when set and we are root. 0 or a negative errno. */
int invoker_give(int fd);
/* Asks the user database, which takes locks: before a fork. -ERANGE: too many groups, long names.
 */
int invoker_find(struct invoker *out);
/* Becomes that user for good, groups and HOME included. For a child before exec. */
int invoker_become(const struct invoker *invoker);

#endif
