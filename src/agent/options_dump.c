/* SPDX-License-Identifier: Apache-2.0 */
/* The command line of spanprof dump: one process. */
#include <errno.h>

#include "agent/options.h"
#include "agent/options_private.h"

enum option_key { KEY_VERBOSE = 256 };

static const struct argp_option dump_options[] = {
	{"pid", 'p', "PID", 0, "the process, a Go program with the OpenTelemetry SDK", 0},
	{"verbose", KEY_VERBOSE, NULL, 0, "tell more on stderr", 0},
	{0},
};

static error_t parse_pid(struct parsing *p, const char *text)
{
	struct options *o = p->options;
	const char *end;
	pid_t pid = options_parse_pid(text, &end);

	if (!pid || (*end && *end != ','))
		return options_refuse(p, "--pid: not a process ID: %s", text);
	if (*end || (o->pid_count && o->pids[0] != pid))
		return options_refuse(p, "dump: exactly one process (-p PID)");
	o->pids[0] = pid;
	o->pid_count = 1;
	return 0;
}

static error_t parse_dump(int key, char *argument, struct argp_state *state)
{
	struct parsing *p = state->input;

	options_note_progress(p, key, state);
	switch (key) {
	case 'p':
		return parse_pid(p, argument);
	case KEY_VERBOSE:
		p->options->verbose = true;
		return 0;
	case ARGP_KEY_ARG:
		return options_refuse(p, "dump: unexpected argument %s (spanprof dump -p PID)",
				      argument);
	}
	return ARGP_ERR_UNKNOWN;
}

static const struct argp dump_argp = {
	dump_options,
	parse_dump,
	"",
	"Prints every open span of a Go process now, oldest first: name, IDs and age, and the "
	"goroutines that work for it, what they wait for and their stacks.\v"
	"It only reads the process's memory: a service that hangs is not touched, and needs not "
	"have been attached to before. Who waits for a lock or a channel has candidates below its "
	"stack: goroutines that may hold the lock, or are to wake it. Needs root or "
	"CAP_SYS_PTRACE. Exit status: 0 done, 1 failed, 2 usage.\n\n"
	"  sudo spanprof dump -p $(pidof shop)",
	NULL,
	NULL,
	NULL};

int options_parse_dump(int argc, char **argv, struct options *out, char *why, size_t why_size)
{
	struct parsing p = {.options = out, .why = why, .why_size = why_size, .next = 1};
	char name[] = "spanprof dump";

	*out = (struct options){.action = ACTION_DUMP};
	if (options_run(&p, &dump_argp, name, argc, argv))
		return -EINVAL;
	if (out->action == ACTION_DUMP && !out->pid_count)
		return -options_refuse(&p, "dump: name the process (-p PID)");
	return 0;
}
