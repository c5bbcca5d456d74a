/* SPDX-License-Identifier: Apache-2.0 */
/* Reads files, merges them, selects, and prints, writes or sends what is left. */
#include "agent/show.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/agent.h"
#include "agent/delivery.h"
#include "agent/options.h"
#include "agent/output.h"
#include "agent/profile_file.h"
#include "agent/terminal.h"
#include "base/bytes.h"
#include "base/log.h"
#include "export/sender.h"
#include "profile/profile.h"
#include "report/report.h"
#include "report/select.h"

#define REPORT_BYTES_MAX (4 << 20)
/* All at once, unlike the agent's windows: nothing of a file may be pushed out by the rest of it.
 */
#define QUEUE_BYTES_MAX ((size_t)1 << 30)
#define FLUSH_MS	60000 /* a receiver that is not there is given up at once */

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

/* 0 without an endpoint on the command line: one in the environment is the agent's, not meant for
 * every look at a file. */
static int open_delivery(const struct options *options, const struct log *log,
			 struct delivery **out)
{
	struct sender_config config = {
		.log = log,
		.endpoint = options->otlp_endpoint,
		.queue_bytes_max = QUEUE_BYTES_MAX,
		.flush_timeout_ms = FLUSH_MS,
	};
	char why[512];
	int error;

	*out = NULL;
	if (!options->otlp_endpoint)
		return 0;
	error = delivery_open(&config, out, why, sizeof(why));
	if (error)
		log_error(log, "%s", why);
	return error;
}

/* What was selected goes where it was asked to go; each way is tried. */
static int hand_out(const struct options *options, const struct log *log,
		    const struct report_options *filter, const struct profile *all,
		    struct delivery *delivery)
{
	struct profile *selected;
	int error = report_select(all, filter, &selected);

	if (error) {
		log_error(log, "the samples could not be selected: %s", strerror(-error));
		return error;
	}
	error = write_outputs(options, log, selected);
	if (delivery && (delivery_add(delivery, selected) || !delivery_finish(delivery)))
		error = -EIO;
	profile_close(selected);
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
	struct profile *all = NULL;
	struct delivery *delivery;
	int error;

	if (overwrites_input(options, log))
		return EXIT_USAGE;
	error = open_delivery(options, log, &delivery);
	if (error == -EINVAL)
		return EXIT_USAGE;
	if (!error)
		error = profile_file_read_all(options->files, options->file_count, log, &all);
	if (!error && (options->output_count || delivery)) {
		error = hand_out(options, log, &filter, all, delivery);
	} else if (!error) {
		error = print(all, &filter);
		if (error)
			log_error(log, "the report could not be printed: %s", strerror(-error));
	}
	delivery_close(delivery);
	profile_close(all);
	return error ? EXIT_FAILED : EXIT_DONE;
}
