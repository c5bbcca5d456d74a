/* SPDX-License-Identifier: Apache-2.0 */
/* See profile_file.h. */
#include "agent/profile_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/log.h"
#include "format/format.h"
#include "profile/profile.h"

static int read_bytes(int fd, off_t size, struct buffer *out)
{
	uint8_t block[65536];
	ssize_t got;

	while ((got = read(fd, block, sizeof(block))) > 0 && (off_t)out->size <= size)
		buffer_add(out, block, got);
	return got < 0 ? -errno : out->failed ? -EFBIG : 0;
}

static int read_file(const char *path, struct buffer *out)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK), error;
	struct stat status;

	if (fd < 0)
		return -errno;
	if (fstat(fd, &status))
		error = -errno;
	else if (!S_ISREG(status.st_mode))
		error = -EINVAL;
	else
		error = status.st_size > (off_t)FORMAT_OTLP_FILE_BYTES_MAX
				? -EFBIG
				: read_bytes(fd, status.st_size, out);
	close(fd);
	return error;
}

static void explain(int error, char *why, size_t why_size)
{
	if (error == -EFBIG)
		snprintf(why, why_size, "larger than %zu MiB", FORMAT_OTLP_FILE_BYTES_MAX >> 20);
	else
		snprintf(why, why_size, "%s",
			 error == -EINVAL ? "not a regular file" : strerror(-error));
}

static void tell_notes(const char *path, const struct format_pprof_notes *notes,
		       const struct log *log)
{
	unsigned long long all = notes->samples;

	if (notes->malformed_ids)
		log_warn(log, "%s: %llu of %llu samples have a label that is no span or trace ID",
			 path, (unsigned long long)notes->malformed_ids, all);
	if (notes->without_trace)
		log_warn(log,
			 "%s: %llu of %llu samples name a span but no trace: they are not linked",
			 path, (unsigned long long)notes->without_trace, all);
	if (notes->types_left_out)
		log_info(log, "%s: %llu other sample types are left out", path,
			 (unsigned long long)notes->types_left_out);
}

static int read_one(const char *path, const struct log *log, struct profile **out)
{
	struct format_pprof_notes notes = {0};
	struct buffer bytes;
	char why[256];
	int error;

	buffer_open(&bytes, FORMAT_OTLP_FILE_BYTES_MAX + 65536);
	error = read_file(path, &bytes);
	explain(error, why, sizeof(why));
	if (!error && format_is_pprof(bytes.data, bytes.size))
		error = format_pprof_read(bytes.data, bytes.size, out, &notes, why, sizeof(why));
	else if (!error)
		error = format_otlp_read(bytes.data, bytes.size, out, why, sizeof(why));
	buffer_close(&bytes);
	if (error)
		log_error(log, "%s: %s", path, why);
	else
		tell_notes(path, &notes, log);
	return error;
}

int profile_file_read_all(const char *const *paths, size_t count, const struct log *log,
			  struct profile **out)
{
	int error = read_one(paths[0], log, out);

	for (size_t i = 1; i < count && !error; i++) {
		struct profile *next;

		error = read_one(paths[i], log, &next);
		if (error)
			break;
		error = profile_merge(*out, next);
		profile_close(next);
		if (error)
			log_error(log, "%s could not be added to the files before it: %s", paths[i],
				  strerror(-error));
	}
	return error;
}
