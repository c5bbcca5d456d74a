/* SPDX-License-Identifier: Apache-2.0 */
/* Reads files, merges them, selects, and prints or writes what is left. */
#include "agent/show.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/agent.h"
#include "agent/options.h"
#include "agent/output.h"
#include "agent/terminal.h"
#include "base/bytes.h"
#include "base/log.h"
#include "format/format.h"
#include "profile/profile.h"
#include "report/report.h"
#include "report/select.h"

#define REPORT_BYTES_MAX (4 << 20)

static int read_all(int fd, off_t size, struct buffer *out)
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
				: read_all(fd, status.st_size, out);
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

static int read_profile(const char *path, const struct log *log, struct profile **out)
{
	struct buffer bytes;
	char why[256];
	int error;

	buffer_open(&bytes, FORMAT_OTLP_FILE_BYTES_MAX + 65536);
	error = read_file(path, &bytes);
	explain(error, why, sizeof(why));
	if (!error)
		error = format_otlp_read(bytes.data, bytes.size, out, why, sizeof(why));
	buffer_close(&bytes);
	if (error)
		log_error(log, "%s: %s", path, why);
	return error;
}

/* All files as one profile. */
static int read_profiles(const struct options *options, const struct log *log, struct profile **out)
{
	int error = read_profile(options->files[0], log, out);

	for (size_t i = 1; i < options->file_count && !error; i++) {
		struct profile *next;

		error = read_profile(options->files[i], log, &next);
		if (error)
			break;
		error = profile_merge(*out, next);
		profile_close(next);
		if (error)
			log_error(log, "%s could not be added to the files before it: %s",
				  options->files[i], strerror(-error));
	}
	return error;
}

static int write_outputs(const struct options *options, const struct log *log,
			 const struct profile *p)
{
	char why[512];
	int error = 0;

	for (size_t i = 0; i < options->output_count && !error; i++) {
		error = output_write(options->outputs[i], p, why, sizeof(why));
		if (error)
			log_error(log, "%s", why);
		else if (strcmp(options->outputs[i], "-"))
			log_info(log, "wrote %s", options->outputs[i]);
	}
	return error;
}

static bool is_same_file(const char *a, const char *b)
{
	struct stat left, right;

	return !stat(a, &left) && !stat(b, &right) && left.st_dev == right.st_dev &&
	       left.st_ino == right.st_ino;
}

/* A selection in the place of the whole would lose the rest. */
static bool overwrites_input(const struct options *options, const struct log *log)
{
	for (size_t i = 0; i < options->output_count; i++) {
		for (size_t k = 0; k < options->file_count; k++) {
			if (!is_same_file(options->outputs[i], options->files[k]))
				continue;
			log_error(log, "-o %s: that file is being read", options->outputs[i]);
			return true;
		}
	}
	return false;
}

static int print(const struct profile *p, struct report_options *report)
{
	struct buffer text;
	int error;

	report->color = terminal_has_color(STDOUT_FILENO);
	report->columns = terminal_columns(STDOUT_FILENO);
	report->spans_max = 10;
	report->lines_max = report->span_id ? 30 : 5;
	buffer_open(&text, REPORT_BYTES_MAX);
	error = report_terminal(p, report, &text);
	if (!error && (fwrite(text.data, 1, text.size, stdout) != text.size || fflush(stdout)))
		error = -errno;
	buffer_close(&text);
	return error;
}

int show_run(const struct options *options, const struct log *log)
{
	struct report_options filter = {
		.trace_id = options->trace_id,
		.span_id = options->span_id,
		.span_name = options->span_name,
		.service = options->service,
	};
	struct profile *all = NULL, *selected = NULL;
	int error;

	if (overwrites_input(options, log))
		return EXIT_USAGE;
	error = read_profiles(options, log, &all);
	if (!error && options->output_count) {
		error = report_select(all, &filter, &selected);
		if (error)
			log_error(log, "the samples could not be selected: %s", strerror(-error));
		else
			error = write_outputs(options, log, selected);
	} else if (!error) {
		error = print(all, &filter);
		if (error)
			log_error(log, "the report could not be printed: %s", strerror(-error));
	}
	profile_close(selected);
	profile_close(all);
	return error ? EXIT_FAILED : EXIT_DONE;
}
