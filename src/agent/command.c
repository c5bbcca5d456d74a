/* SPDX-License-Identifier: Apache-2.0 */
/* Forks early and execs late, so that the program is profiled from its first instruction. The fork
 * is that of the warden, with which two pipes connect.
 */
#include "agent/command.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/invoker.h"
#include "agent/warden.h"

struct command {
	pid_t warden;
	int words_fd;	/* its end is ours */
	int reports_fd; /* does not block once released */
	int status;
	bool released, ended, signalled;
};

int command_open(char **argv, struct command **out)
{
	int words[2] = {-1, -1}, reports[2] = {-1, -1};
	struct command *c = calloc(1, sizeof(*c));
	struct invoker invoker;
	int error;

	*out = NULL;
	if (!c)
		return -ENOMEM;
	error = invoker_find(&invoker);
	if (error)
		goto out;
	if (pipe2(words, O_CLOEXEC) || pipe2(reports, O_CLOEXEC)) {
		error = -errno;
		goto out;
	}
	c->warden = fork();
	if (c->warden < 0) {
		error = -errno;
		goto out;
	}
	if (!c->warden) {
		close(words[1]);
		close(reports[0]);
		warden_run(argv, &invoker, words[0], reports[1]);
	}
	c->words_fd = words[1];
	c->reports_fd = reports[0];
	*out = c;
	c = NULL;
	words[1] = reports[0] = -1;
out:
	for (int i = 0; i < 2; i++) {
		if (words[i] >= 0)
			close(words[i]);
		if (reports[i] >= 0)
			close(reports[i]);
	}
	free(c);
	return error;
}

pid_t command_get_ancestor(const struct command *c)
{
	return c->warden;
}

static int say(struct command *c, uint8_t word)
{
	ssize_t written;

	do
		written = write(c->words_fd, &word, 1);
	while (written < 0 && errno == EINTR);
	return written == 1 ? 0 : -errno;
}

int command_release(struct command *c)
{
	struct warden_report report;
	int error = say(c, WARDEN_GO);
	ssize_t got;

	if (error)
		return error;
	do
		got = read(c->reports_fd, &report, sizeof(report));
	while (got < 0 && errno == EINTR);
	c->released = true;
	c->ended = got != sizeof(report) || report.value;
	fcntl(c->reports_fd, F_SETFL, O_NONBLOCK);
	return got == sizeof(report) ? report.value : -ECHILD;
}

void command_signal(struct command *c, int signal)
{
	c->signalled = true;
	say(c, signal);
}

bool command_has_ended(struct command *c, int *status)
{
	struct warden_report report;
	ssize_t got = -1;

	if (c->released && !c->ended)
		got = read(c->reports_fd, &report, sizeof(report));
	if (got == sizeof(report)) {
		c->status = report.value;
		c->ended = true;
	} else if (!got) {
		c->status = SIGKILL; /* the warden was killed, and the COMMAND with it */
		c->ended = true;
	}
	*status = c->status;
	return c->ended;
}

void command_close(struct command *c)
{
	int status;

	if (!c)
		return;
	if (command_has_ended(c, &status) && !c->signalled)
		say(c, WARDEN_LEAVE);
	close(c->words_fd);
	while (waitpid(c->warden, NULL, 0) < 0 && errno == EINTR)
		continue;
	close(c->reports_fd);
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
