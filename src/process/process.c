/* SPDX-License-Identifier: Apache-2.0 */
/* process: one known process, held by a descriptor of its /proc directory. */
#include "process/process.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/string_table.h"
#include "process/proc_stat.h"
#include "process/process_private.h"

int process_read_file(const struct process *p, const char *name, struct buffer *to)
{
	char chunk[16384];
	ssize_t size;
	int fd, err = 0;

	fd = openat(p->directory, name, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return errno == ENOENT ? -ESRCH : -errno;
	while (to->size < to->cap) {
		size_t room = to->cap - to->size;

		size = read(fd, chunk, room < sizeof(chunk) ? room : sizeof(chunk));
		if (size < 0 && errno == EINTR)
			continue;
		if (size < 0)
			err = -errno;
		if (size <= 0)
			break;
		buffer_add(to, chunk, (size_t)size);
		if (to->failed) {
			err = -ENOMEM;
			break;
		}
	}
	close(fd);
	return err;
}

int process_open_regular(int directory, const char *name)
{
	char link[64];
	struct stat st;
	int path_fd, fd;

	/* O_PATH first: opening a device or a pipe of a stranger would already act on it. */
	path_fd = openat(directory, name, O_PATH | O_CLOEXEC);
	if (path_fd < 0)
		return -errno;
	if (fstat(path_fd, &st) < 0) {
		fd = -errno;
	} else if (!S_ISREG(st.st_mode)) {
		fd = -EINVAL;
	} else {
		snprintf(link, sizeof(link), "/proc/self/fd/%d", path_fd);
		fd = open(link, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
		if (fd < 0)
			fd = -errno;
	}
	close(path_fd);
	return fd;
}

static int read_executable(struct process *p)
{
	char raw[PATH_MAX], clean[PATH_MAX + 64];
	ssize_t size;

	size = readlinkat(p->directory, "exe", raw, sizeof(raw));
	/* ENOENT: a kernel thread or a process that is going. */
	if (size < 0 && errno != ENOENT)
		return -errno;
	string_clean(clean, sizeof(clean), raw, size < 0 ? 0 : (size_t)size);
	p->executable = strdup(clean);
	return p->executable ? 0 : -ENOMEM;
}

/* The directory of a thread opens by its tid as well; only a process's own is wanted. */
static int check_thread_group(const struct process *p)
{
	char status[4096];
	const char *line;
	struct buffer text;
	int err;

	buffer_open(&text, sizeof(status) - 1);
	err = process_read_file(p, "status", &text);
	if (!err) {
		memcpy(status, text.data, text.size);
		status[text.size] = '\0';
		line = strstr(status, "\nTgid:");
		if (line && strtol(line + strlen("\nTgid:"), NULL, 10) != p->pid)
			err = -ESRCH;
	}
	buffer_close(&text);
	return err;
}

int process_open(pid_t pid, struct process **out)
{
	struct proc_stat stat;
	struct process *p;
	char path[64];
	int err;

	if (pid <= 0)
		return -ESRCH;
	p = calloc(1, sizeof(*p));
	if (!p)
		return -ENOMEM;
	p->pid = pid;
	p->pidfd = -1;
	snprintf(path, sizeof(path), "/proc/%d", pid);
	p->directory = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (p->directory < 0) {
		err = errno == ENOENT ? -ESRCH : -errno;
		goto fail;
	}
	p->pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	/* Read after pidfd_open: success shows that both descriptors mean the same process. */
	err = proc_stat_read(p->directory, "stat", &stat);
	if (!err)
		err = check_thread_group(p);
	if (!err)
		err = read_executable(p);
	if (err)
		goto fail;
	p->start_ticks = stat.start_ticks;
	memcpy(p->comm, stat.comm, sizeof(p->comm));
	*out = p;
	return 0;
fail:
	process_close(p);
	return err;
}

void process_close(struct process *p)
{
	if (!p)
		return;
	if (p->pidfd >= 0)
		close(p->pidfd);
	if (p->directory >= 0)
		close(p->directory);
	maps_close(&p->maps);
	free(p->executable);
	free(p);
}

pid_t process_get_pid(const struct process *p)
{
	return p->pid;
}

const char *process_get_executable(const struct process *p)
{
	return p->executable;
}

size_t process_path_length(const char *path)
{
	static const char deleted[] = " (deleted)";
	size_t length = strlen(path), mark = sizeof(deleted) - 1;

	return length > mark && !strcmp(path + length - mark, deleted) ? length - mark : length;
}

bool process_is_same_path(const char *a, const char *b)
{
	size_t length = process_path_length(a);

	return length == process_path_length(b) && !memcmp(a, b, length);
}

int process_open_executable(const struct process *p)
{
	int fd = process_open_regular(p->directory, "exe");

	return fd == -ENOENT ? -ESRCH : fd;
}

bool process_is_alive(const struct process *p)
{
	struct pollfd poll_fd = {.fd = p->pidfd, .events = POLLIN};
	struct proc_stat stat;

	/* A pidfd turns readable when the last thread has ended, reaped or not. */
	if (p->pidfd >= 0 && poll(&poll_fd, 1, 0) >= 0)
		return !poll_fd.revents;
	if (proc_stat_read(p->directory, "stat", &stat))
		return false;
	return stat.start_ticks == p->start_ticks && !proc_stat_is_dead(&stat);
}

uint64_t process_get_cpu_ns(const struct process *p)
{
	struct proc_stat stat;
	long ticks_per_second = sysconf(_SC_CLK_TCK);

	if (proc_stat_read(p->directory, "stat", &stat) || ticks_per_second <= 0)
		return 0;
	return stat.cpu_ticks * (1000000000ull / (uint64_t)ticks_per_second);
}

int process_read_memory(const struct process *p, uint64_t address, void *to, size_t size)
{
	size_t done = 0;

	while (done < size) {
		struct iovec local = {.iov_base = (char *)to + done, .iov_len = size - done};
		struct iovec remote = {.iov_base = (void *)(uintptr_t)(address + done),
				       .iov_len = size - done};
		ssize_t count = process_vm_readv(p->pid, &local, 1, &remote, 1, 0);

		if (count < 0)
			return -errno;
		if (!count)
			return -EFAULT;
		done += (size_t)count;
	}
	/* The call names a pid only: what was read counts if the pid was still this process's. */
	return process_is_alive(p) ? 0 : -ESRCH;
}
