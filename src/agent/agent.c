/* SPDX-License-Identifier: Apache-2.0 */
/* Sets a session up in the order in which its parts are needed, and takes it down again. */
#include "agent/agent.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "agent/binary_store.h"
#include "agent/command.h"
#include "agent/ending_signals.h"
#include "agent/loader.h"
#include "agent/options.h"
#include "agent/output.h"
#include "agent/pipeline.h"
#include "agent/publisher.h"
#include "agent/sample_log.h"
#include "agent/session.h"
#include "agent/span_sweep.h"
#include "agent/summary.h"
#include "agent/targets.h"
#include "agent/terminal.h"
#include "agent/waits.h"
#include "agent/watchdog.h"
#include "base/clock.h"
#include "base/log.h"
#include "capture/capture.h"
#include "gobinary/block_cache.h"
#include "process/discovery.h"
#include "symbolize/symbolize.h"

#define BINARIES_MAX	 1024
#define BINARIES_LEAST	 4
#define DESCRIPTORS_OWN	 48 /* of maps, programs, clocks */
#define CACHE_BYTES	 (4 << 20)
#define LOCATIONS_MAX	 32768
#define RING_BYTES_LOCAL (1 << 20)
#define GOROUTINES_MAX	 32768

static void on_sample(void *context, const struct sample_record *sample)
{
	struct session *s = context;
	struct target *target = targets_find(s->targets, sample->pid, 0);

	if (!target)
		return; /* between exec and its announcement, or not wanted */
	if (!target->generation)
		pipeline_hold(s->pipeline, sample);
	else if (!sample->generation || sample->generation == target->generation)
		pipeline_add(s->pipeline, target, sample);
}

static void on_process_exec(void *context, const struct process_record *record)
{
	struct session *s = context;

	/* What is held is of the image before, whose addresses mean nothing in the new one. */
	pipeline_lose(s->pipeline, record->pid);
	targets_on_exec(s->targets, record);
}

static void on_process_exit(void *context, const struct process_record *record)
{
	struct session *s = context;

	targets_on_exit(s->targets, record);
	pipeline_lose(s->pipeline, record->pid);
}

static void on_first_span(void *context, const struct process_record *record)
{
	struct session *s = context;

	targets_on_first_span(s->targets, record);
}

static void on_ended_span(void *context, const struct span_record *record)
{
	struct session *s = context;
	struct target *target = targets_find(s->targets, record->pid, record->generation);

	if (target && !span_sweep_has_told(s->sweep, record->span_id))
		pipeline_add_ended(s->pipeline, target, record);
}

/* Returns the error. */
static int explain(const char *what, int error, char *why, size_t why_size)
{
	const char *remedy = "";

	if (error == -EMFILE || error == -ENFILE)
		remedy = ": raise the limit (ulimit -n)";
	else if (error == -ENOMEM || error == -EAGAIN)
		remedy = ": raise the limit on memory or threads (ulimit -v, ulimit -u, cgroup)";
	if (error)
		snprintf(why, why_size, "%s: %s%s", what, strerror(-error), remedy);
	return error;
}

static int open_sample_log(struct session *s, char *why, size_t why_size)
{
	for (size_t i = 0; i < s->options->output_count; i++) {
		const char *path = s->options->outputs[i];
		int error;

		if (!output_is_sample_log(path) || s->sample_log)
			continue;
		error = sample_log_open(path, &s->sample_log);
		if (error) {
			snprintf(why, why_size, "cannot write %s: %s", path, strerror(-error));
			return error;
		}
	}
	return 0;
}

static int open_capture(struct session *s, char *why, size_t why_size)
{
	struct capture_handler handler = {
		.context = s,
		.on_sample = on_sample,
		.on_exec = on_process_exec,
		.on_exit = on_process_exit,
		.on_first_span = on_first_span,
		.on_ended_span = on_ended_span,
	};
	struct capture_config config = {
		.frequency_hz = s->options->frequency_hz,
		.kernel_stacks = s->options->kernel_stacks,
		.every_process = !s->options->pid_count && !s->options->command,
		.ring_bytes = RING_BYTES_LOCAL,
		.goroutines_max = GOROUTINES_MAX,
		.calibrate = s->options->probes && s->options->probe_budget > 0,
	};

	return capture_open(&config, &handler, &s->capture, why, why_size);
}

/* Each one that is kept takes an open file, and one in use some more. */
static size_t count_binaries_max(void)
{
	struct rlimit limit;
	size_t room;

	if (getrlimit(RLIMIT_NOFILE, &limit) || limit.rlim_cur >= 4 * BINARIES_MAX)
		return BINARIES_MAX;
	room = limit.rlim_cur > DESCRIPTORS_OWN ? (limit.rlim_cur - DESCRIPTORS_OWN) / 4 : 0;
	return room > BINARIES_LEAST ? room : BINARIES_LEAST;
}

static int open_parts(struct session *s, char *why, size_t why_size)
{
	struct symbolizer_config symbolizer = {
		.locations_max = LOCATIONS_MAX,
		.kernel = s->options->kernel_stacks,
	};
	int error = block_cache_open(CACHE_BYTES, &s->cache);

	if (!error)
		error = binary_store_open(count_binaries_max(), &s->store);
	if (!error)
		error = loader_open(s->store, &s->loader);
	symbolizer.cache = s->cache;
	if (!error)
		error = symbolizer_open(&symbolizer, &s->symbolizer);
	if (error)
		return explain("cannot set up reading of executables", error, why, why_size);
	error = open_sample_log(s, why, why_size);
	return error ? error : open_capture(s, why, why_size);
}

static int open_watchdog(struct session *s, char *why, size_t why_size)
{
	return explain("cannot start a thread", watchdog_open(s->log, &s->watchdog), why, why_size);
}

static int open_targets(struct session *s, char *why, size_t why_size)
{
	struct targets_config targets = {
		.options = s->options,
		.log = s->log,
		.capture = s->capture,
		.loader = s->loader,
		.store = s->store,
		.symbolizer = s->symbolizer,
		.cache = s->cache,
	};
	int error = waits_open(s->options, s->log, s->capture, &s->waits);

	targets.waits = s->waits;
	if (error)
		return explain("cannot start a thread", error, why, why_size);
	return explain("cannot set up", targets_open(&targets, &s->targets), why, why_size);
}

static int add_found(void *context, pid_t pid)
{
	struct session *s = context;
	int error = targets_add(s->targets, pid, false);

	if (error == -ENOSPC)
		s->unscanned++;
	return error == -ENOMEM ? error : 0;
}

static int scan_host(struct session *s)
{
	int error = discovery_scan(add_found, s);

	if (s->unscanned)
		log_warn(s->log, "%zu processes are not looked at: too many run", s->unscanned);
	return error;
}

static int add_command(struct session *s)
{
	char program[PATH_MAX];

	if (!command_find_program(s->options->command[0], program, sizeof(program)))
		targets_prepare(s->targets, program);
	return capture_follow(s->capture, command_get_ancestor(s->command));
}

static int add_targets(struct session *s)
{
	const struct options *o = s->options;
	int error = 0;

	if (o->command)
		return add_command(s);
	if (!o->pid_count)
		return scan_host(s);
	for (size_t i = 0; i < o->pid_count && !error; i++)
		error = targets_add(s->targets, o->pids[i], true);
	return error;
}

/* From here on time counts: the first window opens, then the clocks. */
static int start(struct session *s, char *why, size_t why_size)
{
	struct pipeline_config pipeline = {
		.symbolizer = s->symbolizer,
		.sample_log = s->sample_log,
		.capture = s->capture,
		.period_ns = s->period_ns,
		.waits_outside = s->options->wait_all,
		.keep_ended_spans = options_is_local(s->options),
	};
	int error = add_targets(s);

	if (!error)
		error = pipeline_open(&pipeline, &s->pipeline);
	if (!error)
		error = span_sweep_open(&s->sweep);
	if (!error)
		waits_begin(s->waits, s->targets, s->pipeline);
	if (error)
		return explain("cannot look at processes", error, why, why_size);
	error = capture_start(s->capture, why, why_size);
	if (!error && !options_is_local(s->options))
		log_info(s->log, "profiling every %sprocess of this host at %u Hz%s",
			 s->options->all ? "" : "Go ", s->options->frequency_hz,
			 s->options->duration_ns ? "" : "; Ctrl-C ends it");
	if (error || !s->command)
		return error;
	error = command_release(s->command);
	if (error)
		snprintf(why, why_size, "%s: %s", s->options->command[0], strerror(-error));
	return error;
}

static void close_session(struct session *s)
{
	command_close(s->command);
	waits_begin(s->waits, NULL, NULL);
	targets_close(s->targets);
	span_sweep_close(s->sweep);
	pipeline_close(s->pipeline);
	if (waits_close(s->waits))
		capture_close(s->capture);
	if (loader_close(s->loader))
		binary_store_close(s->store);
	symbolizer_close(s->symbolizer);
	block_cache_close(s->cache);
	publisher_close(s->publisher);
	sample_log_close(s->sample_log);
}

static void finish(struct session *s)
{
	char wanted[TARGETS_WANTED_SIZE];
	int error;

	summary_log(s);
	/* Named processes that could not be profiled have been told one by one. */
	if (!s->options->pid_count && !targets_adopted(s->targets)) {
		targets_describe_wanted(s->targets, wanted, sizeof(wanted));
		log_error(s->log, "nothing was profiled: no %s", wanted);
		s->failed = true;
	}
	/* No empty report, and no file in the place of an earlier one. */
	if (!publisher_finish(s->publisher, targets_adopted(s->targets) > 0))
		s->failed = true;
	if (!s->sample_log || !targets_adopted(s->targets))
		return;
	error = sample_log_commit(s->sample_log);
	if (error) {
		log_error(s->log, "cannot write %s: %s", sample_log_get_path(s->sample_log),
			  strerror(-error));
		s->failed = true;
	} else {
		log_info(s->log, "wrote %s", sample_log_get_path(s->sample_log));
	}
}

/* Before any thread is there: all inherit it. */
static void block_signals(void)
{
	sigset_t signals;

	ending_signals_get(&signals);
	sigprocmask(SIG_BLOCK, &signals, NULL);
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN); /* a limit on the size of files: told as an error of writing */
}

/* A host has more processes than the usual 1024 descriptors reach for. The COMMAND keeps those. */
static void raise_descriptor_limit(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) || limit.rlim_cur == limit.rlim_max)
		return;
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
}

int agent_run(const struct options *options, const struct log *main_log)
{
	struct log log = *main_log;
	struct session s = {
		.options = options,
		.log = &log,
		.period_ns = 1000000000ull / options->frequency_hz,
	};
	struct loop *loop = NULL;
	char why[512] = "";
	int error;

	log.clears = live_is_possible(options);
	block_signals();
	srandom(clock_monotonic_ns());

	error = options->command ? command_open(options->command, &s.command) : 0;
	raise_descriptor_limit();
	if (error)
		explain("cannot start a process", error, why, sizeof(why));
	else
		error = publisher_open(options, &log, &s.publisher, why, sizeof(why));
	if (error == -EINVAL) {
		log_error(&log, "%s", why);
		command_close(s.command);
		return EXIT_USAGE;
	}
	if (!error)
		error = open_watchdog(&s, why, sizeof(why));
	if (!error)
		error = open_parts(&s, why, sizeof(why));
	if (!error)
		error = open_targets(&s, why, sizeof(why));
	if (!error)
		error = explain("cannot set up", loop_open(&s, &loop), why, sizeof(why));
	if (!error)
		error = start(&s, why, sizeof(why));
	if (error) {
		log_error(&log, "%s", why);
	} else {
		error = loop_run(loop);
		watchdog_finish(s.watchdog);
		finish(&s);
	}
	loop_close(loop);
	close_session(&s);
	watchdog_close(s.watchdog);
	return error || s.failed ? EXIT_FAILED : EXIT_DONE;
}
