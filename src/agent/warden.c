/* SPDX-License-Identifier: Apache-2.0 */
/* A subreaper: whatever its child forks and abandons becomes its own child, and is found by that.
 */
#include "agent/warden.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "agent/invoker.h"

#define TICK_NS	       20000000
#define TERM_TICKS     50  /* a second from SIGTERM to SIGKILL */
#define KILL_TICKS     100 /* a process in uninterruptible sleep is given up */
#define GENERATION_MAX 64  /* forks between the COMMAND and a descendant */

struct warden {
	char **argv;
	const struct invoker *invoker;
	int words_fd, reports_fd;
	pid_t self, child; /* child 0: not started or reaped */
};

static void report(const struct warden *w, enum warden_report_kind kind, int value)
{
	struct warden_report report = {.kind = kind, .value = value};
	ssize_t written = write(w->reports_fd, &report, sizeof(report));

	(void)written; /* spanprof is gone: the end of the words tells it */
}

/* kill -9 of the warden leaves no COMMAND behind, not even one made in that moment. */
static void die_with(pid_t parent)
{
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (getppid() != parent)
		_exit(127);
}

static void become_command(const struct warden *w, int error_fd)
{
	sigset_t none;
	int error;

	die_with(w->self);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	signal(SIGPIPE, SIG_DFL);
	signal(SIGXFSZ, SIG_DFL);
	error = invoker_become(w->invoker);
	if (!error) {
		die_with(w->self); /* a change of user has cleared it */
		execvp(w->argv[0], w->argv);
		error = -errno;
	}
	if (write(error_fd, &error, sizeof(error)) != sizeof(error))
		_exit(126);
	_exit(127);
}

/* The pipe is closed by a successful exec, else carries the errno of a failed one. */
static void start(struct warden *w)
{
	int failure[2], error = 0;

	if (pipe2(failure, O_CLOEXEC)) {
		report(w, WARDEN_STARTED, -errno);
		return;
	}
	w->child = fork();
	if (!w->child) {
		close(failure[0]);
		become_command(w, failure[1]);
	}
	close(failure[1]);
	if (w->child < 0)
		error = -errno;
	else if (read(failure[0], &error, sizeof(error)) != sizeof(error))
		error = 0;
	close(failure[0]);
	if (error && w->child > 0)
		waitpid(w->child, NULL, 0);
	if (error)
		w->child = 0;
	report(w, WARDEN_STARTED, error);
}

static bool reap(struct warden *w)
{
	int status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
		if (pid == w->child) {
			w->child = 0;
			report(w, WARDEN_ENDED, status);
		}
	}
	return pid < 0; /* no children left */
}

/* Field 4 of /proc/PID/stat; the name before it may hold anything. 0: gone. */
static pid_t parent_of(pid_t pid)
{
	char path[32], text[512], *end;
	ssize_t size;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	size = read(fd, text, sizeof(text) - 1);
	close(fd);
	text[size > 0 ? size : 0] = '\0';
	end = strrchr(text, ')');
	return end && strlen(end) > 4 ? strtol(end + 4, NULL, 10) : 0;
}

static bool is_descendant(const struct warden *w, pid_t pid)
{
	for (int i = 0; i < GENERATION_MAX && pid > 1; i++) {
		pid = parent_of(pid);
		if (pid == w->self)
			return true;
	}
	return false;
}

/* The descriptor comes first: it never means a later process of the same number. */
static void signal_descendant(const struct warden *w, pid_t pid, int number)
{
	int fd = syscall(SYS_pidfd_open, pid, 0);

	if (fd < 0)
		return;
	if (is_descendant(w, pid))
		syscall(SYS_pidfd_send_signal, fd, number, NULL, 0);
	close(fd);
}

static void signal_descendants(const struct warden *w, int number)
{
	DIR *proc = opendir("/proc");
	struct dirent *entry;

	if (!proc)
		return;
	while ((entry = readdir(proc)))
		if (isdigit((unsigned char)entry->d_name[0]))
			signal_descendant(w, strtol(entry->d_name, NULL, 10), number);
	closedir(proc);
}

/* SIGINT goes to all, as from a terminal: `go run` counts on that. Others to the COMMAND. */
static void pass_signal(const struct warden *w, int number)
{
	if (number == SIGINT)
		signal_descendants(w, number);
	else if (w->child > 0)
		kill(w->child, number);
}

static void end_all(struct warden *w)
{
	struct timespec tick = {.tv_nsec = TICK_NS};

	if (reap(w))
		return;
	signal_descendants(w, SIGTERM);
	for (int i = 0; i < TERM_TICKS + KILL_TICKS && !reap(w); i++) {
		if (i >= TERM_TICKS)
			signal_descendants(w, SIGKILL);
		nanosleep(&tick, NULL);
	}
}

/* False: there is nothing more to do. */
static bool take_word(struct warden *w)
{
	uint8_t word;
	ssize_t got = read(w->words_fd, &word, 1);

	if (got < 0 && errno == EINTR)
		return true;
	if (got != 1) {
		end_all(w);
		return false;
	}
	if (word == WARDEN_LEAVE)
		return false;
	if (word == WARDEN_GO)
		start(w);
	else
		pass_signal(w, word);
	return true;
}

void warden_run(char **argv, const struct invoker *invoker, int words_fd, int reports_fd)
{
	struct warden w = {
		.argv = argv,
		.invoker = invoker,
		.words_fd = words_fd,
		.reports_fd = reports_fd,
		.self = getpid(),
	};
	struct pollfd events[2] = {{.fd = words_fd, .events = POLLIN}, {.events = POLLIN}};
	struct signalfd_siginfo info;
	sigset_t all, ended;

	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	signal(SIGCHLD, SIG_DFL); /* ignored, it would leave nothing to wait for */
	sigemptyset(&ended);
	sigaddset(&ended, SIGCHLD);
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	prctl(PR_SET_NAME, "spanprof-warden");
	events[1].fd = signalfd(-1, &ended, SFD_CLOEXEC | SFD_NONBLOCK);
	do {
		while (read(events[1].fd, &info, sizeof(info)) == sizeof(info))
			continue;
		reap(&w);
		if (poll(events, 2, -1) < 0 && errno != EINTR)
			break;
	} while (!(events[0].revents & (POLLIN | POLLHUP | POLLERR)) || take_word(&w));
	_exit(0);
}
