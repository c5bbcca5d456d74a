/* SPDX-License-Identifier: Apache-2.0 */
/* The COMMAND: when it starts, as whom, how it ends, and that nothing of it stays behind. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "agent/command.h"
#include "base/clock.h"

#define TICK_NS	   10000000
#define PATIENCE_S 20 /* on a loaded machine; nothing here takes so long */

static char directory[] = "/tmp/test_command_XXXXXX";

static void tick(void)
{
	nanosleep(&(struct timespec){.tv_nsec = TICK_NS}, NULL);
}

/* A file in the test's directory, which any user may write to. */
static const char *file(const char *name)
{
	static char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	return path;
}

static bool exists(const char *name)
{
	return !access(file(name), F_OK);
}

/* The text that the COMMAND writes there, waited for up to its newline. */
static char *text_of(const char *name, char *to, size_t size)
{
	for (int i = 0; i < PATIENCE_S * 100; i++, tick()) {
		FILE *f = fopen(file(name), "r");
		size_t used = f ? fread(to, 1, size - 1, f) : 0;

		if (f)
			fclose(f);
		to[used] = '\0';
		if (used && to[used - 1] == '\n') {
			to[used - 1] = '\0';
			unlink(file(name));
			return to;
		}
	}
	fail_msg("nothing came in %s", name);
	return NULL;
}

static pid_t pid_of(const char *name)
{
	char text[64];

	return (pid_t)strtol(text_of(name, text, sizeof(text)), NULL, 10);
}

/* A shell in the test's directory. */
static struct command *shell(const char *script)
{
	char line[1024];
	char *arguments[] = {"/bin/sh", "-c", line, NULL};
	struct command *c;

	snprintf(line, sizeof(line), "cd %s; %s", directory, script);
	assert_int_equal(command_open(arguments, &c), 0);
	return c;
}

static int wait_for_end(struct command *c)
{
	int status = -1;

	for (int i = 0; i < PATIENCE_S * 100; i++, tick())
		if (command_has_ended(c, &status))
			return status;
	fail_msg("the command does not end");
	return -1;
}

/* A zombie that nobody has reaped yet runs no more either. */
static bool runs(pid_t pid)
{
	char path[64], line[512] = "";
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	f = fopen(path, "r");
	if (!f)
		return false;
	if (!fgets(line, sizeof(line), f))
		line[0] = '\0';
	fclose(f);
	return strrchr(line, ')') && strrchr(line, ')')[2] != 'Z';
}

static bool ends_soon(pid_t pid)
{
	for (int i = 0; i < PATIENCE_S * 100; i++, tick())
		if (!runs(pid))
			return true;
	return false;
}

static void test_waits(void **state)
{
	struct command *c = shell("echo > started; exit 7");
	int status = -1;

	for (int i = 0; i < 20; i++)
		tick();
	assert_false(exists("started"));
	assert_false(command_has_ended(c, &status));
	assert_true(runs(command_get_ancestor(c)));
	assert_int_equal(command_release(c), 0);
	status = wait_for_end(c);
	assert_true(exists("started"));
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 7);
	/* And so it stays. */
	assert_true(command_has_ended(c, &status));
	assert_int_equal(WEXITSTATUS(status), 7);
	command_close(c);
	unlink(file("started"));
}

static void test_never_released(void **state)
{
	struct command *c = shell("echo > started");
	pid_t ancestor = command_get_ancestor(c);

	command_close(c);
	assert_false(runs(ancestor));
	assert_false(exists("started"));
	command_close(NULL);
}

static void test_exec_fails(void **state)
{
	static const struct {
		char *program;
		int error;
	} programs[] = {{"/nonexistent/program", -ENOENT},
			{"no-such-program-anywhere", -ENOENT},
			{"/etc/passwd", -EACCES},
			{"/", -EACCES},
			{"", -ENOENT}};

	for (size_t i = 0; i < sizeof(programs) / sizeof(*programs); i++) {
		char *arguments[] = {programs[i].program, NULL};
		struct command *c;
		int status;

		assert_int_equal(command_open(arguments, &c), 0);
		assert_int_equal(command_release(c), programs[i].error);
		assert_true(command_has_ended(c, &status));
		command_close(c);
	}
}

/* What the program starts with: no signal blocked, SIGPIPE not ignored, no descriptor of ours. */
static void test_clean_start(void **state)
{
	int ours = open("/dev/null", O_RDONLY | O_CLOEXEC);
	char *arguments[] = {"/bin/sh", "-c", NULL, NULL};
	char line[512], text[512];
	struct command *c;
	sigset_t some, before;

	snprintf(line, sizeof(line),
		 "cd %s; (grep -E 'SigBlk|SigIgn' /proc/self/status | tr -d '\\n'; "
		 "ls -l /proc/$$/fd | grep -cE 'pipe.*pipe|/fd/%d ->| %d ->') > seen",
		 directory, ours, ours);
	arguments[2] = line;
	sigemptyset(&some);
	sigaddset(&some, SIGINT);
	sigaddset(&some, SIGTERM);
	sigprocmask(SIG_BLOCK, &some, &before); /* as the agent does */
	signal(SIGPIPE, SIG_IGN);
	assert_int_equal(command_open(arguments, &c), 0);
	assert_int_equal(command_release(c), 0);
	sigprocmask(SIG_SETMASK, &before, NULL);
	signal(SIGPIPE, SIG_DFL);
	assert_string_equal(text_of("seen", text, sizeof(text)),
			    "SigBlk:\t0000000000000000SigIgn:\t00000000000000000");
	wait_for_end(c);
	command_close(c);
	close(ours);
}

static void test_user(void **state)
{
	struct command *c;
	char text[64];

	assert_int_equal(geteuid(), 0);
	setenv("SUDO_UID", "54321", 1);
	setenv("SUDO_GID", "12345", 1);
	c = shell("echo $(id -u):$(id -g):$(id -G) > user");
	unsetenv("SUDO_UID");
	unsetenv("SUDO_GID");
	assert_int_equal(command_release(c), 0);
	assert_string_equal(text_of("user", text, sizeof(text)), "54321:12345:12345");
	wait_for_end(c);
	command_close(c);
}

static void test_signal(void **state)
{
	struct command *c = shell("trap 'echo got > usr1' USR1; echo $$ > pid; while :; do sleep "
				  "0.05; done");
	char text[16];
	int status;
	pid_t pid;

	assert_int_equal(command_release(c), 0);
	pid = pid_of("pid");
	assert_true(runs(pid));
	command_signal(c, SIGUSR1);
	assert_string_equal(text_of("usr1", text, sizeof(text)), "got");
	assert_false(command_has_ended(c, &status));
	command_signal(c, SIGTERM);
	status = wait_for_end(c);
	assert_true(WIFSIGNALED(status));
	assert_int_equal(WTERMSIG(status), SIGTERM);
	assert_false(runs(pid));
	command_signal(c, SIGTERM); /* to nobody */
	command_close(c);
}

/* SIGTERM first, SIGKILL for who does not listen; children, and those who left the session too. */
static void test_close_ends_all(void **state)
{
	struct command *c = shell("trap '' TERM; setsid sleep 1000 & echo $! > left; "
				  "(sleep 1000 & echo $! > orphan); echo $$ > deaf; "
				  "while :; do sleep 1; done");
	uint64_t start_ns;
	pid_t deaf, left, orphan;

	assert_int_equal(command_release(c), 0);
	left = pid_of("left");
	orphan = pid_of("orphan");
	deaf = pid_of("deaf");
	assert_true(runs(left) && runs(orphan) && runs(deaf));
	start_ns = clock_monotonic_ns();
	command_close(c);
	assert_true(clock_monotonic_ns() - start_ns < 8000000000);
	assert_false(runs(deaf));
	assert_false(runs(left));
	assert_false(runs(orphan));
}

/* What a COMMAND leaves in the background by its own will is not ours to end. */
static void test_background_stays(void **state)
{
	struct command *c = shell("sleep 1000 & echo $! > pid");
	int status;
	pid_t pid;

	assert_int_equal(command_release(c), 0);
	pid = pid_of("pid");
	status = wait_for_end(c);
	assert_int_equal(status, 0);
	command_close(c);
	assert_true(runs(pid));
	kill(pid, SIGKILL);
}

/* kill -9 of who opened it. */
static void test_death_of_the_agent(void **state)
{
	pid_t agent = fork(), child, grandchild;

	if (!agent) {
		struct command *c = shell("sh -c 'echo $$ > grandchild; sleep 1000; :' & "
					  "echo $$ > child; wait");

		command_release(c);
		for (;;)
			pause();
	}
	child = pid_of("child");
	grandchild = pid_of("grandchild");
	assert_true(runs(child) && runs(grandchild));
	kill(agent, SIGKILL);
	waitpid(agent, NULL, 0);
	assert_true(ends_soon(child));
	assert_true(ends_soon(grandchild));
}

static void test_find_program(void **state)
{
	const char *const saved = getenv("PATH");
	char kept[4096], path[PATH_MAX], folders[128], expected[128], before[PATH_MAX];

	snprintf(kept, sizeof(kept), "%s", saved ? saved : "");
	assert_non_null(getcwd(before, sizeof(before)));
	assert_int_equal(chdir(directory), 0);
	close(open("tool", O_CREAT | O_WRONLY, 0755));
	close(open("plain", O_CREAT | O_WRONLY, 0644));
	mkdir("folder", 0755);
	snprintf(folders, sizeof(folders), "/nonexistent:%s", directory);
	snprintf(expected, sizeof(expected), "%s/tool", directory);

	setenv("PATH", folders, 1);
	assert_int_equal(command_find_program("tool", path, sizeof(path)), 0);
	assert_string_equal(path, expected);
	assert_int_equal(command_find_program("plain", path, sizeof(path)), -ENOENT);
	assert_int_equal(command_find_program("folder", path, sizeof(path)), -ENOENT);
	assert_int_equal(command_find_program("", path, sizeof(path)), -ENOENT);
	assert_int_equal(command_find_program("./tool", path, sizeof(path)), 0);
	assert_string_equal(path, "./tool");
	assert_int_equal(command_find_program("./none", path, sizeof(path)), -ENOENT);
	/* An empty entry is the current folder, wherever it stands. */
	static const char *const empty[] = {"", ":/nonexistent", "/nonexistent:", "/x::/y"};

	for (size_t i = 0; i < 4; i++) {
		setenv("PATH", empty[i], 1);
		assert_int_equal(command_find_program("tool", path, sizeof(path)), 0);
		assert_string_equal(path, "./tool");
	}
	/* Without PATH: what execvp falls back to. */
	unsetenv("PATH");
	assert_int_equal(command_find_program("tool", path, sizeof(path)), -ENOENT);
	assert_int_equal(command_find_program("sh", path, sizeof(path)), 0);
	assert_string_equal(path, "/bin/sh");
	setenv("PATH", kept, 1);
	unlink("tool");
	unlink("plain");
	rmdir("folder");
	assert_int_equal(chdir(before), 0);
}

static int set_up(void **state)
{
	unsetenv("SUDO_UID");
	unsetenv("SUDO_GID");
	return !mkdtemp(directory) || chmod(directory, 0777);
}

static int tear_down(void **state)
{
	return rmdir(directory);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_waits),
		cmocka_unit_test(test_never_released),
		cmocka_unit_test(test_exec_fails),
		cmocka_unit_test(test_clean_start),
		cmocka_unit_test(test_user),
		cmocka_unit_test(test_signal),
		cmocka_unit_test(test_close_ends_all),
		cmocka_unit_test(test_background_stays),
		cmocka_unit_test(test_death_of_the_agent),
		cmocka_unit_test(test_find_program),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
