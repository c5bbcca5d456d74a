/* SPDX-License-Identifier: Apache-2.0 */
/* Reads SUDO_UID and SUDO_GID, which sudo sets and only root acts upon. */
#include "agent/invoker.h"

#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <stdbool.h>
#include <stdlib.h>
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

static bool invoker(uid_t *uid, gid_t *gid)
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

	return invoker(&uid, &gid) && fchown(fd, uid, gid) ? -errno : 0;
}

int invoker_become(void)
{
	struct passwd *user;
	uid_t uid;
	gid_t gid;

	if (!invoker(&uid, &gid) || !uid)
		return 0;
	user = getpwuid(uid);
	if (user ? initgroups(user->pw_name, gid) : setgroups(1, &gid))
		return -errno;
	if (setgid(gid) || setuid(uid))
		return -errno;
	return user && setenv("HOME", user->pw_dir, 1) ? -errno : 0;
}
