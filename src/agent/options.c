/* SPDX-License-Identifier: Apache-2.0 */
/* Command line → struct options; every refusal is one sentence. */
#include "agent/options.h"

#include <argp.h>
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/options_private.h"
#include "agent/output.h"

enum option_key {
	KEY_EXE = 256,
	KEY_INCLUDE,
	KEY_EXCLUDE,
	KEY_KERNEL_STACKS,
	KEY_PROBES,
	KEY_PROBE_BUDGET,
	KEY_ALL,
	KEY_WAIT,
	KEY_WAIT_ALL,
	KEY_WINDOW,
	KEY_OTLP_ENDPOINT,
	KEY_VERBOSE,
	KEY_TRACE,
	KEY_SPAN,
	KEY_SPAN_NAME,
	KEY_SERVICE,
};

static const struct argp_option profile_options[] = {
	{"pid", 'p', "PID[,PID]", 0, "profile these processes", 0},
	{"exe", KEY_EXE, "GLOB", 0, "profile processes whose executable matches", 0},
	{"include", KEY_INCLUDE, "GLOB", 0,
	 "host-wide or of a COMMAND: only executables that match", 0},
	{"exclude", KEY_EXCLUDE, "GLOB", 0, "leave out executables that match", 0},
	{"all", KEY_ALL, NULL, 0,
	 "other programs than Go's, too: their leaf, and callers as far as they keep frame "
	 "pointers",
	 0},
	{"duration", 'd', "SECONDS", 0, "stop after so long (default: Ctrl-C)", 0},
	{"frequency", 'F', "HZ", 0, "samples per second and CPU (99; without a selector 19)", 0},
	{"wait", KEY_WAIT, "HZ|off", 0,
	 "looks per second at what spans wait for, in 1 % of a CPU (99; without a selector 5)", 0},
	{"wait-all", KEY_WAIT_ALL, NULL, 0, "look at goroutines outside spans, too", 0},
	{"output", 'o', "FILE", 0,
	 "write .pb.gz (pprof), .folded, .otlp or .jsonl (every sample and span end); several "
	 "allowed",
	 0},
	{"otlp-endpoint", KEY_OTLP_ENDPOINT, "URL", 0, "send OTLP profiles there", 0},
	{"window", KEY_WINDOW, "SECONDS", 0, "length of one OTLP profile (10)", 0},
	{"kernel-stacks", KEY_KERNEL_STACKS, "on|off", 0, "record kernel frames (on)", 0},
	{"probes", KEY_PROBES, "on|off", 0,
	 "follow spans by probes (on); off: samples are not tagged", 0},
	{"probe-budget", KEY_PROBE_BUDGET, "PERCENT", 0,
	 "of a process's CPU time that probes may take; 0: no limit (2)", 0},
	{"verbose", KEY_VERBOSE, NULL, 0, "tell more on stderr", 0},
	{0},
};

static const struct argp_option show_options[] = {
	{"trace", KEY_TRACE, "ID", 0, "only spans of this trace (32 hex digits)", 0},
	{"span", KEY_SPAN, "ID", 0, "only this span (16 hex digits)", 0},
	{"span-name", KEY_SPAN_NAME, "NAME", 0, "only spans of this name", 0},
	{"service", KEY_SERVICE, "NAME", 0, "only this service", 0},
	{"output", 'o', "FILE", 0, "write what was selected: .pb.gz, .folded or .otlp", 0},
	{"otlp-endpoint", KEY_OTLP_ENDPOINT, "URL", 0, "send what was selected there", 0},
	{"verbose", KEY_VERBOSE, NULL, 0, "tell more on stderr", 0},
	{0},
};

/* A process named twice is one process: it is counted when it ends. */
static bool has_pid(const struct options *o, pid_t pid)
{
	for (size_t i = 0; i < o->pid_count; i++)
		if (o->pids[i] == pid)
			return true;
	return false;
}

static error_t parse_pids(struct parsing *p, const char *text)
{
	struct options *o = p->options;

	for (;;) {
		const char *end;
		pid_t pid = options_parse_pid(text, &end);

		if (!pid || (*end && *end != ','))
			return options_refuse(p, "--pid: not a process ID: %s", text);
		if (!has_pid(o, pid)) {
			if (o->pid_count == OPTIONS_PIDS_MAX)
				return options_refuse(p, "--pid: at most %d processes",
						      OPTIONS_PIDS_MAX);
			o->pids[o->pid_count++] = pid;
		}
		if (!*end)
			return 0;
		text = end + 1;
	}
}

static error_t parse_number(struct parsing *p, const char *name, const char *text, double least,
			    double most, double *out)
{
	char *end;

	*out = strtod(text, &end);
	if (end == text || *end || !(*out >= least && *out <= most))
		return options_refuse(p, "%s: a number from %.8g to %.8g, not %s", name, least,
				      most, text);
	return 0;
}

static error_t parse_whole(struct parsing *p, const char *name, const char *text, double least,
			   double most, unsigned *out)
{
	double number;
	error_t error = parse_number(p, name, text, least, most, &number);

	if (error)
		return error; /* what is out of range does not fit into *out */
	*out = number;
	return *out == number ? 0 : options_refuse(p, "%s: a whole number, not %s", name, text);
}

static error_t parse_duration(struct parsing *p, const char *text)
{
	double seconds;
	error_t error = parse_number(p, "--duration", text, 0.1, 31536000, &seconds);

	if (!error)
		p->options->duration_ns = seconds * 1e9;
	return error;
}

static error_t parse_switch(struct parsing *p, const char *name, const char *text, bool *out)
{
	*out = !strcmp(text, "on");
	if (!*out && strcmp(text, "off"))
		return options_refuse(p, "%s: on or off, not %s", name, text);
	return 0;
}

static error_t parse_hex(struct parsing *p, const char *name, const char *text, size_t digits,
			 const char **out)
{
	if (strlen(text) != digits || strspn(text, "0123456789abcdefABCDEF") != digits)
		return options_refuse(p, "%s: %zu hex digits, not %s", name, digits, text);
	*out = text;
	return 0;
}

static error_t add(struct parsing *p, const char *name, const char **list, size_t *count,
		   size_t max, const char *value)
{
	if (*count == max)
		return options_refuse(p, "%s: given more than %zu times", name, max);
	list[(*count)++] = value;
	return 0;
}

static error_t parse_output(struct parsing *p, const char *path)
{
	struct options *o = p->options;

	if (o->action == ACTION_SHOW && (!output_is_known(path) || output_is_sample_log(path)))
		return options_refuse(p, "-o %s: show writes .pb.gz, .folded or .otlp", path);
	if (!output_is_known(path))
		return options_refuse(p, "-o %s: the name must end in %s", path,
				      output_known_names());
	for (size_t i = 0; i < o->output_count; i++)
		if (output_is_sample_log(path) && output_is_sample_log(o->outputs[i]))
			return options_refuse(p, "-o %s: only one .jsonl file can be written",
					      path);
	return add(p, "-o", o->outputs, &o->output_count, OPTIONS_OUTPUTS_MAX, path);
}

static error_t parse_wait(struct parsing *p, const char *text)
{
	unsigned *hz = &p->options->wait_hz;

	*hz = 0;
	p->explicit_wait = true;
	return strcmp(text, "off") ? parse_whole(p, "--wait", text, 1, 1000, hz) : 0;
}

/* What is no option: the command behind --. */
static error_t take_arguments(struct parsing *p, const struct argp_state *state)
{
	struct options *o = p->options;

	if (state->quoted && state->quoted == state->next) {
		o->command = state->argv + state->next;
		return 0;
	}
	if (o->pid_count && isdigit((unsigned char)*state->argv[state->next]))
		return options_refuse(p,
				      "unexpected argument %s (-p takes pids with commas: -p 1,2)",
				      state->argv[state->next]);
	if (!strcmp(state->argv[state->next], "show"))
		return options_refuse(p, "options of show stand behind it: spanprof show FILE... "
					 "[OPTION...]");
	if (!strcmp(state->argv[state->next], "dump"))
		return options_refuse(p, "options of dump stand behind it: spanprof dump "
					 "-p PID");
	return options_refuse(p, "unexpected argument %s (a command to run goes behind --)",
			      state->argv[state->next]);
}

static error_t parse_profile(int key, char *argument, struct argp_state *state)
{
	struct parsing *p = state->input;
	struct options *o = p->options;

	options_note_progress(p, key, state);
	switch (key) {
	case 'p':
		return parse_pids(p, argument);
	case KEY_EXE:
		o->exe_selector = true;
		return add(p, "--exe", o->exe_globs, &o->exe_glob_count, OPTIONS_GLOBS_MAX,
			   argument);
	case KEY_INCLUDE:
		o->include = true;
		return add(p, "--include", o->exe_globs, &o->exe_glob_count, OPTIONS_GLOBS_MAX,
			   argument);
	case KEY_ALL:
		o->all = true;
		return 0;
	case KEY_EXCLUDE:
		return add(p, "--exclude", o->exclude_globs, &o->exclude_glob_count,
			   OPTIONS_GLOBS_MAX, argument);
	case 'd':
		return parse_duration(p, argument);
	case 'F':
		p->explicit_frequency = true;
		return parse_whole(p, "--frequency", argument, 1, 4000, &o->frequency_hz);
	case KEY_WAIT:
		return parse_wait(p, argument);
	case KEY_WAIT_ALL:
		o->wait_all = true;
		return 0;
	case KEY_WINDOW:
		return parse_whole(p, "--window", argument, 1, 300, &o->window_s);
	case 'o':
		return parse_output(p, argument);
	case KEY_OTLP_ENDPOINT:
		o->otlp_endpoint = argument;
		return 0;
	case KEY_KERNEL_STACKS:
		return parse_switch(p, "--kernel-stacks", argument, &o->kernel_stacks);
	case KEY_PROBES:
		return parse_switch(p, "--probes", argument, &o->probes);
	case KEY_PROBE_BUDGET:
		return parse_number(p, "--probe-budget", argument, 0, 100, &o->probe_budget);
	case KEY_VERBOSE:
		o->verbose = true;
		return 0;
	case ARGP_KEY_NO_ARGS:
		if (state->quoted)
			return options_refuse(p, "-- is not followed by a command");
		return 0;
	case ARGP_KEY_ARGS:
		return take_arguments(p, state);
	}
	return ARGP_ERR_UNKNOWN;
}

static error_t parse_show(int key, char *argument, struct argp_state *state)
{
	struct parsing *p = state->input;
	struct options *o = p->options;

	options_note_progress(p, key, state);
	switch (key) {
	case KEY_TRACE:
		return parse_hex(p, "--trace", argument, 32, &o->trace_id);
	case KEY_SPAN:
		return parse_hex(p, "--span", argument, 16, &o->span_id);
	case KEY_SPAN_NAME:
		o->span_name = argument;
		return 0;
	case KEY_SERVICE:
		o->service = argument;
		return 0;
	case KEY_OTLP_ENDPOINT:
		o->otlp_endpoint = argument;
		return 0;
	case 'o':
		return parse_output(p, argument);
	case KEY_VERBOSE:
		o->verbose = true;
		return 0;
	case ARGP_KEY_ARG:
		return add(p, "FILE", o->files, &o->file_count, OPTIONS_FILES_MAX, argument);
	}
	return ARGP_ERR_UNKNOWN;
}

static const struct argp profile_argp = {
	profile_options,
	parse_profile,
	"[-- COMMAND ARG...]",
	"Profiles unmodified Go services and tags every sample with its OpenTelemetry span.\v"
	"Without a selector every Go process of the host is profiled, and the report is printed "
	"unless -o or an endpoint takes the profile. What -o FILE.otlp wrote is read by spanprof "
	"show FILE... (spanprof show --help); what every open span of a process does right now "
	"is printed by spanprof dump -p PID (spanprof dump --help). With -d a COMMAND that still "
	"runs is ended by "
	"SIGTERM. All OTEL_EXPORTER_OTLP_* variables are honoured; a process with SPANPROF=off in "
	"its "
	"environment is left alone. Exit status: 0 done, 1 failed or not all delivered, 2 "
	"usage.\n\n"
	"  sudo spanprof -p $(pidof shop) -d 30 -o shop.pb.gz\n"
	"  sudo spanprof -- go run ./cmd/api",
	NULL,
	NULL,
	NULL};

static const struct argp show_argp = {
	show_options,
	parse_show,
	"FILE...",
	"Shows where the CPU time of a span went, or converts and sends it: of .otlp files, and of "
	"pprof files of CPU time, spanprof's or others' (span labels: span_id, trace_id, "
	"span_name).",
	NULL,
	NULL,
	NULL};

static int check_profile(struct parsing *p)
{
	struct options *o = p->options;
	int selectors = (o->pid_count > 0) + (o->command != NULL) + o->exe_selector;

	if (p->failed)
		return -EINVAL;
	if (selectors > 1)
		return -options_refuse(p, "--pid, --exe and a COMMAND exclude each other");
	if (o->pid_count && (o->include || o->exclude_glob_count))
		return -options_refuse(
			p, "--include and --exclude choose among processes: not with --pid");
	if (o->exe_selector && o->include)
		return -options_refuse(p,
				       "--exe already says which executables: not with --include");
	if (!p->explicit_frequency)
		o->frequency_hz = options_is_local(o) ? 99 : 19;
	if (!p->explicit_wait)
		o->wait_hz = options_is_local(o) ? 99 : 5;
	if (o->wait_all && !o->wait_hz)
		return -options_refuse(p, "--wait-all wants looks: not with --wait off");
	return 0;
}

int options_parse(int argc, char **argv, struct options *out, char *why, size_t why_size)
{
	struct parsing p = {.options = out, .why = why, .why_size = why_size, .next = 1};
	bool show = argc > 1 && !strcmp(argv[1], "show");
	const struct argp *argp = show ? &show_argp : &profile_argp;
	char name[] = "spanprof", show_name[] = "spanprof show";

	if (argc > 1 && !strcmp(argv[1], "dump"))
		return options_parse_dump(argc - 1, argv + 1, out, why, why_size);
	*out = (struct options){
		.action = show ? ACTION_SHOW : ACTION_PROFILE,
		.window_s = 10,
		.kernel_stacks = true,
		.probes = true,
		.probe_budget = 2,
	};
	if (options_run(&p, argp, show ? show_name : name, argc - show, argv + show))
		return -EINVAL;
	if (out->action == ACTION_PROFILE)
		return check_profile(&p);
	if (out->action == ACTION_SHOW && !out->file_count)
		return -options_refuse(&p, "show: name at least one FILE");
	return 0;
}

bool options_is_local(const struct options *o)
{
	return o->pid_count || o->command || o->exe_selector;
}
