/* SPDX-License-Identifier: Apache-2.0 */
/* /proc/PID/stat; fields as proc(5) counts them. */
#include "process/proc_stat.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/string_table.h"

#define PF_KTHREAD 0x00200000 /* include/linux/sched.h */

#define FIELD_STATE   3
#define FIELD_FLAGS   9
#define FIELD_USER    14
#define FIELD_SYSTEM  15
#define FIELD_THREADS 20
#define FIELD_START   22

/* A decimal number and the blank before it; negative numbers, which are not needed, read as 0. */
static uint64_t take_number(struct bytes *b)
{
	uint64_t value = 0;
	bool negative = false, any = false;

	if (bytes_u8(b) != ' ')
		b->failed = true;
	while (bytes_left(b) && *b->at != ' ' && *b->at != '\n') {
		uint8_t c = bytes_u8(b);

		if (c == '-' && !any)
			negative = true;
		else if (c >= '0' && c <= '9')
			value = value * 10 + (c - '0');
		else
			b->failed = true;
		any = true;
	}
	if (!any)
		b->failed = true;
	return negative ? 0 : value;
}

int proc_stat_parse(const char *text, size_t size, struct proc_stat *out)
{
	const char *open = memchr(text, '(', size);
	/* comm may itself hold blanks and parentheses: the last one closes it. */
	const char *close = memrchr(text, ')', size);
	struct bytes b;

	if (!open || !close || close < open)
		return -EINVAL;
	*out = (struct proc_stat){0};
	string_clean(out->comm, sizeof(out->comm), open + 1, (size_t)(close - open - 1));
	b = bytes_over(close + 1, size - (size_t)(close + 1 - text));
	bytes_skip(&b, 1);
	out->state = (char)bytes_u8(&b);
	for (int field = FIELD_STATE + 1; field <= FIELD_START; field++) {
		uint64_t value = take_number(&b);

		if (field == FIELD_FLAGS)
			out->flags = (uint32_t)value;
		else if (field == FIELD_USER || field == FIELD_SYSTEM)
			out->cpu_ticks += value;
		else if (field == FIELD_THREADS)
			out->threads = value;
		else if (field == FIELD_START)
			out->start_ticks = value;
	}
	return b.failed ? -EINVAL : 0;
}

int proc_stat_read(int directory, const char *path, struct proc_stat *out)
{
	char text[1024]; /* 52 numbers at most */
	ssize_t size;
	int fd, err;

	fd = openat(directory, path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return errno == ENOENT ? -ESRCH : -errno;
	size = read(fd, text, sizeof(text));
	err = size < 0 ? -errno : 0;
	close(fd);
	return err ? err : proc_stat_parse(text, (size_t)size, out);
}

bool proc_stat_is_kernel_thread(const struct proc_stat *stat)
{
	return stat->flags & PF_KTHREAD;
}

bool proc_stat_is_dead(const struct proc_stat *stat)
{
	return strchr("ZXx", stat->state) && stat->threads <= 1;
}
