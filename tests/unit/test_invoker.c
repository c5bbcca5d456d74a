/* SPDX-License-Identifier: Apache-2.0 */
/* The person behind sudo: who that is, and what a child becomes. Root is needed to become anyone.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/invoker.h"

#define NOBODY_NAMED 54321 /* an ID that no user database has */

static void set_sudo(const char *uid, const char *gid)
{
	unsetenv("SUDO_UID");
	unsetenv("SUDO_GID");
	if (uid)
		setenv("SUDO_UID", uid, 1);
	if (gid)
		setenv("SUDO_GID", gid, 1);
}

static void test_nobody(void **state)
{
	static const char *const users[][2] = {
		{NULL, NULL},	  {"1000", NULL}, {NULL, "1000"},      {"0", "0"},
		{"root", "root"}, {"+5", "5"},	  {"5", "4294967295"},
	};
	static struct invoker invoker;
	uid_t before = getuid();

	for (size_t i = 0; i < sizeof(users) / sizeof(*users); i++) {
		set_sudo(users[i][0], users[i][1]);
		memset(&invoker, 0xa5, sizeof(invoker));
		assert_int_equal(invoker_find(&invoker), 0);
		assert_false(invoker.known);
		assert_int_equal(invoker_become(&invoker), 0);
		assert_int_equal(getuid(), before);
	}
	set_sudo(NULL, NULL);
}

/* What a child is after invoker_become. */
struct seen {
	int error;
	uid_t real, effective, saved;
	gid_t real_group, effective_group, saved_group;
	int group_count;
	gid_t groups[64];
	char home[256], user[64], logname[64];
	int back_to_root; /* what setuid(0) says */
};

static void become(const struct invoker *invoker, struct seen *seen)
{
	int ends[2];
	pid_t pid;

	assert_int_equal(pipe(ends), 0);
	memset(seen, 0, sizeof(*seen));
	pid = fork();
	if (!pid) {
		setenv("HOME", "/before", 1);
		seen->error = invoker_become(invoker);
		getresuid(&seen->real, &seen->effective, &seen->saved);
		getresgid(&seen->real_group, &seen->effective_group, &seen->saved_group);
		seen->group_count = getgroups(64, seen->groups);
		strncpy(seen->home, getenv("HOME"), sizeof(seen->home) - 1);
		strncpy(seen->user, getenv("USER") ? getenv("USER") : "", sizeof(seen->user) - 1);
		strncpy(seen->logname, getenv("LOGNAME") ? getenv("LOGNAME") : "",
			sizeof(seen->logname) - 1);
		seen->back_to_root = setuid(0);
		_exit(write(ends[1], seen, sizeof(*seen)) != sizeof(*seen));
	}
	close(ends[1]);
	assert_int_equal(read(ends[0], seen, sizeof(*seen)), sizeof(*seen));
	close(ends[0]);
	waitpid(pid, NULL, 0);
}

static void assert_is(const struct seen *seen, uid_t uid, gid_t gid)
{
	assert_int_equal(seen->error, 0);
	assert_int_equal(seen->real, uid);
	assert_int_equal(seen->effective, uid);
	assert_int_equal(seen->saved, uid);
	assert_int_equal(seen->real_group, gid);
	assert_int_equal(seen->effective_group, gid);
	assert_int_equal(seen->saved_group, gid);
	assert_int_equal(seen->back_to_root, -1);
}

/* A user of the database: groups, HOME and names are theirs. */
static void test_known_user(void **state)
{
	const struct passwd *user = getpwnam("nobody");
	static struct invoker invoker;
	static struct seen seen;
	char uid[16], gid[16];
	bool in_own_group = false;

	assert_non_null(user);
	assert_int_equal(geteuid(), 0);
	snprintf(uid, sizeof(uid), "%u", user->pw_uid);
	snprintf(gid, sizeof(gid), "%u", user->pw_gid);
	set_sudo(uid, gid);
	setenv("USER", "root", 1);
	assert_int_equal(invoker_find(&invoker), 0);
	assert_true(invoker.known);
	assert_int_equal(invoker.uid, user->pw_uid);
	assert_string_equal(invoker.name, "nobody");
	assert_string_equal(invoker.home, user->pw_dir);
	become(&invoker, &seen);
	assert_is(&seen, user->pw_uid, user->pw_gid);
	assert_int_equal(seen.group_count, invoker.group_count);
	for (int i = 0; i < seen.group_count; i++) {
		assert_int_not_equal(seen.groups[i], 0); /* nothing of root's is kept */
		in_own_group |= seen.groups[i] == user->pw_gid;
	}
	assert_true(in_own_group);
	assert_string_equal(seen.home, user->pw_dir);
	assert_string_equal(seen.user, "nobody");
	assert_string_equal(seen.logname, "nobody");
	set_sudo(NULL, NULL);
}

static void test_unknown_user(void **state)
{
	static struct invoker invoker;
	static struct seen seen;

	assert_null(getpwuid(NOBODY_NAMED));
	set_sudo("54321", "12345");
	assert_int_equal(invoker_find(&invoker), 0);
	assert_true(invoker.known);
	assert_string_equal(invoker.name, "");
	become(&invoker, &seen);
	assert_is(&seen, NOBODY_NAMED, 12345);
	assert_int_equal(seen.group_count, 1);
	assert_int_equal(seen.groups[0], 12345);
	assert_string_equal(seen.home, "/before");
	set_sudo(NULL, NULL);
}

static void test_give(void **state)
{
	char path[] = "/tmp/test_invoker_XXXXXX";
	int fd = mkostemp(path, O_CLOEXEC);
	struct stat st;

	assert_true(fd >= 0);
	assert_int_equal(invoker_give(fd), 0);
	assert_int_equal(fstat(fd, &st), 0);
	assert_int_equal(st.st_uid, 0);
	set_sudo("54321", "12345");
	assert_int_equal(invoker_give(fd), 0);
	assert_int_equal(fstat(fd, &st), 0);
	assert_int_equal(st.st_uid, NOBODY_NAMED);
	assert_int_equal(st.st_gid, 12345);
	assert_int_equal(invoker_give(-1), -9); /* EBADF */
	set_sudo(NULL, NULL);
	close(fd);
	unlink(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nobody),
		cmocka_unit_test(test_known_user),
		cmocka_unit_test(test_unknown_user),
		cmocka_unit_test(test_give),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
