/* SPDX-License-Identifier: Apache-2.0 */
/* Sends, keeps and finally writes profiles. */
#include "agent/publisher.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/delivery.h"
#include "agent/options.h"
#include "agent/output.h"
#include "agent/target_identity.h"
#include "agent/terminal.h"
#include "base/bytes.h"
#include "base/clock.h"
#include "base/log.h"
#include "export/sender.h"
#include "profile/profile.h"
#include "report/report.h"

#define QUEUE_BYTES_MAX	  (16 << 20)
#define FLUSH_MS	  5000
#define REPORT_BYTES_MAX  (4 << 20)
#define TOTAL_SAMPLES_MAX 131072
#define TOTAL_SPANS_MAX	  131072
#define TOTAL_STRINGS_MAX (32 << 20)
#define WATCHED_WINDOW_NS 1000000000ull

struct publisher {
	const struct options *options;
	const struct log *log;
	struct delivery *delivery; /* NULL: nothing is sent */
	bool report, keep_total;
	bool failed;	       /* a window was not sent or not kept */
	uint64_t dropped;      /* samples without room in a window, when no total is kept */
	struct profile *total; /* opened with the first window; NULL: none is kept */
};

static int open_delivery(struct publisher *p, char *why, size_t why_size)
{
	struct sender_config config = {
		.log = p->log,
		.endpoint = p->options->otlp_endpoint,
		.queue_bytes_max = QUEUE_BYTES_MAX,
		.flush_timeout_ms = FLUSH_MS,
	};
	int error = delivery_open(&config, &p->delivery, why, why_size);

	return error == -ENOENT ? 0 : error;
}

static int open_total(struct publisher *p, const struct profile_view *first)
{
	struct profile_config config = {
		.period_ns = first->period_ns,
		.samples_max = TOTAL_SAMPLES_MAX,
		.strings_bytes_max = TOTAL_STRINGS_MAX,
		.spans_max = TOTAL_SPANS_MAX,
	};

	return profile_open(&config, first->start_wall_ns, &p->total);
}

int publisher_open(const struct options *options, const struct log *log, struct publisher **out,
		   char *why, size_t why_size)
{
	struct publisher *p = calloc(1, sizeof(*p));
	int error = p ? 0 : -ENOMEM;

	*out = NULL;
	if (error) {
		snprintf(why, why_size, "out of memory");
		return error;
	}
	p->options = options;
	p->log = log;
	for (size_t i = 0; i < options->output_count && !error; i++)
		error = output_check(options->outputs[i], why, why_size);
	if (!error)
		error = open_delivery(p, why, why_size);
	p->report = options_is_local(options) || (!options->output_count && !p->delivery);
	p->keep_total = p->report || options->output_count;
	if (error)
		publisher_close(p);
	else
		*out = p;
	return error;
}

void publisher_add(struct publisher *p, struct profile *window)
{
	struct profile_view view;
	int error = 0;

	profile_get_view(window, &view);
	if (p->delivery && (view.sample_count > 1 || view.wait_count > 1))
		p->failed |= delivery_add(p->delivery, window) != 0;
	if (p->keep_total && !p->total)
		error = open_total(p, &view);
	if (p->total)
		error = profile_merge(p->total, window);
	if (error) {
		log_error(p->log, "out of memory: a window is missing in the report");
		p->failed = true;
	}
	p->dropped += view.dropped;
	profile_close(window);
}

void publisher_rename(struct publisher *p, const struct identity *was, const struct identity *is)
{
	if (p->total)
		target_identity_rename(p->total, was, is);
}

const struct profile *publisher_get_total(const struct publisher *p)
{
	return p->total;
}

uint64_t publisher_get_window_ns(const struct publisher *p)
{
	if (!p->delivery && live_is_possible(p->options))
		return WATCHED_WINDOW_NS;
	return p->options->window_s * 1000000000ull;
}

static bool print_report(struct publisher *p)
{
	struct report_options options = {
		.color = terminal_has_color(STDOUT_FILENO),
		.columns = terminal_columns(STDOUT_FILENO),
		.spans_max = 10,
		.lines_max = 5,
	};
	struct buffer text;
	bool written;
	int error;

	buffer_open(&text, REPORT_BYTES_MAX);
	errno = ENOMEM; /* of report_terminal; what is written sets its own */
	written = !report_terminal(p->total, &options, &text) &&
		  fwrite(text.data, 1, text.size, stdout) == text.size && !fflush(stdout);
	error = errno;
	buffer_close(&text);
	if (!written)
		log_error(p->log, "the report could not be printed: %s", strerror(error));
	return written;
}

/* The report has a note of its own. */
static void tell_dropped(const struct publisher *p)
{
	uint64_t dropped = p->dropped;
	struct profile_view view;

	if (p->total) {
		profile_get_view(p->total, &view);
		dropped = view.dropped;
	}
	if (dropped)
		log_warn(p->log, "%llu samples found no room in the profile",
			 (unsigned long long)dropped);
}

static bool deliver(struct publisher *p)
{
	return !p->delivery || delivery_finish(p->delivery);
}

bool publisher_finish(struct publisher *p, bool report)
{
	bool done = true, on_stdout = false;
	char why[512];

	if (p->keep_total && !p->total) {
		log_error(p->log, "out of memory: nothing was kept");
		return deliver(p) && false;
	}
	/* Where nothing was profiled, a file of an earlier run stays as it is. */
	for (size_t i = 0; report && i < p->options->output_count; i++) {
		const char *path = p->options->outputs[i];

		on_stdout |= !strcmp(path, "-");
		if (output_is_sample_log(path))
			continue;
		if (output_write(path, p->total, why, sizeof(why))) {
			log_error(p->log, "%s", why);
			done = false;
		} else if (strcmp(path, "-")) {
			log_info(p->log, "wrote %s", path);
		}
	}
	if (p->report && report && !on_stdout)
		done &= print_report(p);
	else
		tell_dropped(p);
	return deliver(p) && done && !p->failed;
}

void publisher_close(struct publisher *p)
{
	if (!p)
		return;
	delivery_close(p->delivery);
	profile_close(p->total);
	free(p);
}
