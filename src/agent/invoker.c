/* SPDX-License-Identifier: Apache-2.0 */
/* Reads SUDO_UID and SUDO_GID, which sudo sets and only root acts upon. */
#include "agent/invoker.h"

#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool read_id(const char *name, unsigned long *id)
{
	const char *text = getenv(name);
	char *end;

	if (!text || *text < '0' || *text > '9')
		return false;
	errno = 0;
	*id = strtoul(text, &end, 10);
	return !errno && !*end && *id < (uid_t)-1;
}

static bool read_ids(uid_t *uid, gid_t *gid)
{
	unsigned long user, group;

	if (geteuid() || !read_id("SUDO_UID", &user) || !read_id("SUDO_GID", &group))
		return false;
	*uid = user;
	*gid = group;
	return true;
}

int invoker_give(int fd)
{
	uid_t uid;
	gid_t gid;

	return read_ids(&uid, &gid) && fchown(fd, uid, gid) ? -errno : 0;
}

int invoker_find(struct invoker *out)
{
	int count = INVOKER_GROUPS_MAX;
	struct passwd *user;

	memset(out, 0, sizeof(*out));
	if (!read_ids(&out->uid, &out->gid) || !out->uid)
		return 0;
	out->known = true;
	user = getpwuid(out->uid);
	if (!user) {
		out->groups[0] = out->gid;
		out->group_count = 1;
		return 0;
	}
	if (strlen(user->pw_name) >= sizeof(out->name) || strlen(user->pw_dir) >= sizeof(out->home))
		return -ERANGE;
	strcpy(out->name, user->pw_name);
	strcpy(out->home, user->pw_dir);
	if (getgrouplist(out->name, out->gid, out->groups, &count) < 0)
		return -ERANGE;
	out->group_count = count;
	return 0;
}

int invoker_become(const struct invoker *invoker)
{
	if (!invoker->known)
		return 0;
	if (setgroups(invoker->group_count, invoker->groups) || setgid(invoker->gid) ||
	    setuid(invoker->uid))
		return -errno;
	if (!invoker->name[0])
		return 0;
	if (setenv("HOME", invoker->home, 1) || setenv("USER", invoker->name, 1) ||
	    setenv("LOGNAME", invoker->name, 1))
		return -errno;
	return 0;
}
