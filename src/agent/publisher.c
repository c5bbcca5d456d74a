/* SPDX-License-Identifier: Apache-2.0 */
/* Sends, keeps and finally writes profiles. */
#include "agent/publisher.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/options.h"
#include "agent/output.h"
#include "agent/terminal.h"
#include "base/bytes.h"
#include "base/clock.h"
#include "base/log.h"
#include "export/sender.h"
#include "format/format.h"
#include "profile/profile.h"
#include "report/report.h"

#define QUEUE_BYTES_MAX	  (16 << 20)
#define FLUSH_MS	  5000
#define REQUEST_BYTES_MAX (3584 << 10) /* 3.5 MiB: receivers refuse 4 */
#define REPORT_BYTES_MAX  (4 << 20)
#define TOTAL_SAMPLES_MAX 131072
#define TOTAL_SPANS_MAX	  131072
#define TOTAL_STRINGS_MAX (32 << 20)
#define WATCHED_WINDOW_NS 1000000000ull

struct publisher {
	const struct options *options;
	const struct log *log;
	struct sender *sender; /* NULL: nothing is sent */
	bool report, keep_total;
	bool failed;	       /* a window was not sent or not kept */
	uint64_t dropped;      /* samples without room in a window, when no total is kept */
	struct profile *total; /* opened with the first window; NULL: none is kept */
};

static int open_sender(struct publisher *p, char *why, size_t why_size)
{
	struct sender_config config = {
		.log = p->log,
		.endpoint = p->options->otlp_endpoint,
		.queue_bytes_max = QUEUE_BYTES_MAX,
		.flush_timeout_ms = FLUSH_MS,
	};
	int error = sender_open(&config, &p->sender, why, why_size);

	if (error == -ENOENT)
		return 0;
	if (!error)
		log_info(p->log, "sending profiles to %s%s", sender_get_url(p->sender),
			 p->options->otlp_endpoint ? "" : " (from the environment)");
	return error;
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
		error = open_sender(p, why, why_size);
	p->report = options_is_local(options) || (!options->output_count && !p->sender);
	p->keep_total = p->report || options->output_count;
	if (error)
		publisher_close(p);
	else
		*out = p;
	return error;
}

static int queue_request(void *context, struct buffer *request, uint64_t samples)
{
	struct publisher *p = context;

	return sender_send(p->sender, request, samples);
}

static void send_window(struct publisher *p, const struct profile *window)
{
	struct format_otlp_options options = {.agent_version = SPANPROF_VERSION};
	int error = format_otlp_each(window, &options, REQUEST_BYTES_MAX, queue_request, p);

	if (!error)
		return;
	log_error(p->log, "a profile could not be encoded: %s", strerror(-error));
	p->failed = true;
}

void publisher_add(struct publisher *p, struct profile *window)
{
	struct profile_view view;
	int error = 0;

	profile_get_view(window, &view);
	if (p->sender && (view.sample_count > 1 || view.wait_count > 1))
		send_window(p, window);
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

const struct profile *publisher_get_total(const struct publisher *p)
{
	return p->total;
}

uint64_t publisher_get_window_ns(const struct publisher *p)
{
	if (!p->sender && live_is_possible(p->options))
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

static bool close_sender(struct publisher *p)
{
	struct sender_stats stats = {0};

	if (!p->sender)
		return true;
	sender_close(p->sender, &stats);
	p->sender = NULL;
	if (stats.profiles_rejected)
		log_error(p->log, "the receiver rejected %llu profiles: %s",
			  (unsigned long long)stats.profiles_rejected, stats.last_error);
	if (!stats.samples_dropped) {
		log_info(p->log, "delivered %llu samples in %llu request%s",
			 (unsigned long long)stats.samples_sent,
			 (unsigned long long)stats.requests_ok, stats.requests_ok == 1 ? "" : "s");
		return !stats.profiles_rejected;
	}
	log_error(p->log, "%llu of %llu samples were not delivered: %s",
		  (unsigned long long)stats.samples_dropped,
		  (unsigned long long)(stats.samples_dropped + stats.samples_sent),
		  stats.last_error);
	return false;
}

bool publisher_finish(struct publisher *p, bool report)
{
	bool done = true, on_stdout = false;
	char why[512];

	if (p->keep_total && !p->total) {
		log_error(p->log, "out of memory: nothing was kept");
		return close_sender(p) && false;
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
	return close_sender(p) && done && !p->failed;
}

void publisher_close(struct publisher *p)
{
	if (!p)
		return;
	if (p->sender)
		sender_close(p->sender, &(struct sender_stats){0});
	profile_close(p->total);
	free(p);
}
