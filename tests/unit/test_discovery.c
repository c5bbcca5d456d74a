/* SPDX-License-Identifier: Apache-2.0 */
/* Which processes are found, which globs match. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <errno.h>

#include "child.h"
#include "process/discovery.h"

extern char **environ;

struct seen {
	pid_t wanted, last;
	bool found, ordered;
	size_t count;
};

static int see(void *context, pid_t pid)
{
	struct seen *seen = context;
	char path[64], target[8];

	seen->found |= pid == seen->wanted;
	seen->ordered &= pid > seen->last;
	seen->last = pid;
	seen->count++;
	assert_int_not_equal(pid, getpid());
	/* Kernel threads have no executable; a process that just ended has none either. */
	snprintf(path, sizeof(path), "/proc/%d/exe", pid);
	if (readlink(path, target, sizeof(target)) < 0 && errno == ENOENT)
		assert_true(kill(pid, 0) < 0);
	return 0;
}

static int stop(void *context, pid_t pid)
{
	++*(int *)context;
	return 7;
}

static void test_scan(void **state)
{
	pid_t pid = child_start(environ);
	struct seen seen = {.wanted = pid, .ordered = true};
	int calls = 0;

	assert_int_equal(discovery_scan(see, &seen), 0);
	assert_true(seen.found);
	assert_true(seen.ordered);
	assert_true(seen.count >= 1);
	assert_int_equal(discovery_scan(stop, &calls), 7);
	assert_int_equal(calls, 1);
	kill(pid, SIGKILL);
	/* A zombie is not there any more. */
	siginfo_t info;
	assert_int_equal(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
	seen = (struct seen){.wanted = pid, .ordered = true};
	assert_int_equal(discovery_scan(see, &seen), 0);
	assert_false(seen.found);
	waitpid(pid, NULL, 0);
}

static void test_daemons(void **state)
{
	assert_true(discovery_is_system_daemon("/usr/bin/kubelet"));
	assert_true(discovery_is_system_daemon("/usr/bin/containerd"));
	assert_true(discovery_is_system_daemon("/usr/bin/containerd-shim-runc-v2"));
	assert_true(discovery_is_system_daemon("/usr/bin/dockerd (deleted)"));
	assert_true(discovery_is_system_daemon("/usr/local/bin/kube-apiserver"));
	assert_true(discovery_is_system_daemon("etcd"));
	assert_false(discovery_is_system_daemon("/srv/etcd-backup"));
	assert_false(discovery_is_system_daemon("/kubelet/api"));
	assert_false(discovery_is_system_daemon("/usr/bin/docker"));
	assert_false(discovery_is_system_daemon(""));
}

static void test_globs(void **state)
{
	const char *const include[] = {"/srv/*", "worker"};
	const char *const exclude[] = {"*-debug"};
	struct discovery_filter none = {0};
	struct discovery_filter both = {include, 2, exclude, 1};

	assert_true(discovery_matches("api", "/srv/shop/api"));
	assert_true(discovery_matches("/srv/*/api", "/srv/shop/api"));
	assert_true(discovery_matches("a?i", "/srv/shop/api (deleted)"));
	assert_false(discovery_matches("shop", "/srv/shop/api"));
	assert_false(discovery_matches("ap", "/srv/shop/api"));
	assert_true(discovery_is_selected(&none, "/bin/anything"));
	assert_true(discovery_is_selected(&both, "/srv/api"));
	assert_true(discovery_is_selected(&both, "/opt/worker"));
	assert_false(discovery_is_selected(&both, "/opt/api"));
	assert_false(discovery_is_selected(&both, "/srv/api-debug"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_scan),
		cmocka_unit_test(test_daemons),
		cmocka_unit_test(test_globs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
