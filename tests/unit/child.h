/* SPDX-License-Identifier: Apache-2.0 */
/* A child process for tests: a program that runs until it is ended, with a given environment. */
#ifndef TESTS_UNIT_CHILD_H
#define TESTS_UNIT_CHILD_H

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

/* Runs /bin/sleep (its own image is waited for) with `environment`; returns its pid. */
static inline pid_t child_start(char *const environment[])
{
	char *const arguments[] = {"/bin/sleep", "60", NULL};
	char byte;
	int pipe_fds[2];
	pid_t pid;

	if (pipe2(pipe_fds, O_CLOEXEC))
		return -1;
	pid = fork();
	if (!pid) {
		execve(arguments[0], arguments, environment);
		_exit(127);
	}
	/* exec closes the child's end. */
	close(pipe_fds[1]);
	while (read(pipe_fds[0], &byte, 1) > 0)
		;
	close(pipe_fds[0]);
	return pid;
}

static inline void child_end(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

#endif
