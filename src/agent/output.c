/* SPDX-License-Identifier: Apache-2.0 */
/* Encodes a profile by the ending of a file's name and puts it in place by a rename. */
#include "agent/output.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/invoker.h"
#include "base/bytes.h"
#include "format/format.h"

#define OUTPUT_BYTES_MAX ((size_t)1 << 30)

static int encode_otlp(const struct profile *p, struct buffer *out)
{
	struct format_otlp_options options = {
		.span_names = true,
		.agent_version = SPANPROF_VERSION,
	};

	return format_otlp(p, &options, out);
}

struct encoding {
	const char *ending;
	int (*encode)(const struct profile *p, struct buffer *out); /* NULL: the sample log */
	size_t bytes_max;
};

static const struct encoding encodings[] = {
	{".pb.gz", format_pprof, OUTPUT_BYTES_MAX},
	{".folded", format_folded, OUTPUT_BYTES_MAX},
	{".otlp", encode_otlp, FORMAT_OTLP_FILE_BYTES_MAX}, /* what show reads again */
	{".jsonl", NULL, 0},
};

static const struct encoding *find_encoding(const char *path)
{
	size_t length = strlen(path);

	if (!strcmp(path, "-"))
		path = "-.folded", length = strlen(path);
	for (size_t i = 0; i < sizeof(encodings) / sizeof(*encodings); i++) {
		size_t ending = strlen(encodings[i].ending);

		if (length > ending && !strcmp(path + length - ending, encodings[i].ending))
			return &encodings[i];
	}
	return NULL;
}

bool output_is_known(const char *path)
{
	return find_encoding(path) != NULL;
}

const char *output_known_names(void)
{
	return ".pb.gz, .folded, .otlp or .jsonl";
}

bool output_is_sample_log(const char *path)
{
	const struct encoding *encoding = find_encoding(path);

	return encoding && !encoding->encode;
}

static int temporary_name(const char *path, char *name, size_t size)
{
	int length = snprintf(name, size, "%s.XXXXXX", path);

	return length < 0 || (size_t)length >= size ? -ENAMETOOLONG : 0;
}

int output_open_temporary(const char *path, char *name, size_t size)
{
	int fd, error = temporary_name(path, name, size);

	if (error)
		return error;
	fd = mkostemp(name, O_CLOEXEC); /* mode 0600 */
	if (fd < 0)
		return -errno;
	error = invoker_give(fd);
	if (error) {
		close(fd);
		unlink(name);
		return error;
	}
	return fd;
}

static int explain(int error, const char *path, char *why, size_t why_size)
{
	snprintf(why, why_size, "cannot write %s: %s", path, strerror(-error));
	return error;
}

int output_check(const char *path, char *why, size_t why_size)
{
	char name[PATH_MAX];
	struct stat status;
	bool exists;
	int fd;

	if (!strcmp(path, "-"))
		return 0;
	exists = !stat(path, &status);
	if (exists && S_ISDIR(status.st_mode))
		return explain(-EISDIR, path, why, why_size);
	if (exists && !S_ISREG(status.st_mode)) {
		snprintf(why, why_size,
			 "cannot write %s: it is no regular file, and would be "
			 "replaced by one",
			 path);
		return -EEXIST;
	}
	fd = output_open_temporary(path, name, sizeof(name));
	if (fd < 0)
		return explain(fd, path, why, why_size);
	close(fd);
	unlink(name);
	return 0;
}

static int write_all(int fd, const uint8_t *data, size_t size)
{
	while (size) {
		ssize_t written = write(fd, data, size);

		if (written < 0 && errno == EINTR)
			continue;
		if (written < 0)
			return -errno;
		data += written;
		size -= written;
	}
	return 0;
}

static int write_file(const char *path, const struct buffer *bytes)
{
	char name[PATH_MAX];
	int error, fd;

	if (!strcmp(path, "-"))
		return write_all(STDOUT_FILENO, bytes->data, bytes->size);
	fd = output_open_temporary(path, name, sizeof(name));
	if (fd < 0)
		return fd;
	error = write_all(fd, bytes->data, bytes->size);
	if (close(fd) && !error)
		error = -errno;
	if (!error && rename(name, path))
		error = -errno;
	if (error)
		unlink(name);
	return error;
}

int output_write(const char *path, const struct profile *p, char *why, size_t why_size)
{
	const struct encoding *encoding = find_encoding(path);
	struct buffer bytes;
	int error;

	if (!encoding || !encoding->encode)
		return explain(-EINVAL, path, why, why_size);
	buffer_open(&bytes, encoding->bytes_max);
	error = encoding->encode(p, &bytes);
	if (!error)
		error = write_file(path, &bytes);
	buffer_close(&bytes);
	return error ? explain(error, path, why, why_size) : 0;
}
