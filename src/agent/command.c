/* SPDX-License-Identifier: Apache-2.0 */
/* Forks early and execs late, so that the program is profiled from its first instruction. */
#include "agent/command.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "agent/invoker.h"

struct command {
	pid_t pid;	/* 0: reaped */
	int release_fd; /* closing without a byte ends the child */
	int error_fd;	/* the errno of a failed exec; closed by a successful one */
	int status;
};

/* kill -9 of spanprof leaves no child behind, not even one made in that moment. */
static void die_with(pid_t parent)
{
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (getppid() != parent)
		_exit(127);
}

/* In the child: waits for the word, then becomes the program. */
static void run_child(char **argv, const struct invoker *invoker, pid_t parent, int release_fd,
		      int error_fd)
{
	char byte;
	int error = 0;
	sigset_t none;

	die_with(parent);
	if (read(release_fd, &byte, 1) != 1)
		_exit(127);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	signal(SIGPIPE, SIG_DFL);
	error = invoker_become(invoker);
	if (!error) {
		die_with(parent); /* a change of user has cleared it */
		execvp(argv[0], argv);
		error = -errno;
	}
	if (write(error_fd, &error, sizeof(error)) != sizeof(error))
		_exit(126);
	_exit(127);
}

int command_open(char **argv, struct command **out)
{
	int release[2] = {-1, -1}, failure[2] = {-1, -1};
	struct command *c = calloc(1, sizeof(*c));
	struct invoker invoker;
	pid_t parent = getpid();
	int error;

	*out = NULL;
	if (!c)
		return -ENOMEM;
	error = invoker_find(&invoker);
	if (error)
		goto out;
	if (pipe2(release, O_CLOEXEC) || pipe2(failure, O_CLOEXEC)) {
		error = -errno;
		goto out;
	}
	c->pid = fork();
	if (c->pid < 0) {
		error = -errno;
		goto out;
	}
	if (!c->pid) {
		close(release[1]);
		run_child(argv, &invoker, parent, release[0], failure[1]);
	}
	c->release_fd = release[1];
	c->error_fd = failure[0];
	*out = c;
	c = NULL;
	release[1] = failure[0] = -1;
out:
	for (int i = 0; i < 2; i++) {
		if (release[i] >= 0)
			close(release[i]);
		if (failure[i] >= 0)
			close(failure[i]);
	}
	free(c);
	return error;
}

pid_t command_get_pid(const struct command *c)
{
	return c->pid;
}

int command_release(struct command *c)
{
	int error = 0;
	ssize_t got;

	if (write(c->release_fd, "g", 1) != 1)
		return -errno;
	do
		got = read(c->error_fd, &error, sizeof(error));
	while (got < 0 && errno == EINTR);
	return got == sizeof(error) ? error : 0;
}

void command_signal(struct command *c, int signal)
{
	if (c->pid > 0)
		kill(c->pid, signal);
}

bool command_has_ended(struct command *c, int *status)
{
	if (c->pid > 0 && waitpid(c->pid, &c->status, WNOHANG) == c->pid)
		c->pid = 0;
	*status = c->status;
	return !c->pid;
}

void command_close(struct command *c)
{
	struct timespec tick = {.tv_nsec = 20000000};
	int status;

	if (!c)
		return;
	close(c->release_fd);
	close(c->error_fd);
	if (!command_has_ended(c, &status))
		command_signal(c, SIGTERM);
	for (int i = 0; i < 50 && !command_has_ended(c, &status); i++)
		nanosleep(&tick, NULL);
	if (!command_has_ended(c, &status)) {
		command_signal(c, SIGKILL);
		waitpid(c->pid, &c->status, 0);
	}
	free(c);
}

static bool is_program(const char *path)
{
	struct stat status;

	return !stat(path, &status) && S_ISREG(status.st_mode) && !access(path, X_OK);
}

int command_find_program(const char *name, char *path, size_t size)
{
	const char *folders = getenv("PATH");

	if (!*name)
		return -ENOENT;
	if (strchr(name, '/')) {
		snprintf(path, size, "%s", name);
		return is_program(path) ? 0 : -ENOENT;
	}
	if (!folders)
		folders = "/bin:/usr/bin"; /* as execvp of glibc */
	for (;;) {
		int length = strcspn(folders, ":");

		/* An empty folder is the current one. */
		snprintf(path, size, "%.*s/%s", length ? length : 1, length ? folders : ".", name);
		if (is_program(path))
			return 0;
		if (!folders[length])
			return -ENOENT;
		folders += length + 1;
	}
}
