/* SPDX-License-Identifier: Apache-2.0 */
/* One command line through argp, and what it says when that fails. */
#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/options.h"
#include "agent/options_private.h"

#define PID_MAX 4194304

error_t options_refuse(struct parsing *p, const char *format, ...)
{
	va_list arguments;

	if (p->failed)
		return EINVAL;
	va_start(arguments, format);
	vsnprintf(p->why, p->why_size, format, arguments);
	va_end(arguments);
	p->failed = true;
	return EINVAL;
}

void options_note_progress(struct parsing *p, int key, const struct argp_state *state)
{
	if (key < ARGP_KEY_END)
		p->next = state->next;
}

pid_t options_parse_pid(const char *text, const char **end)
{
	char *behind = (char *)text;
	long pid;

	errno = 0;
	pid = isdigit((unsigned char)*text) ? strtol(text, &behind, 10) : 0;
	*end = behind;
	return pid <= 0 || pid > PID_MAX || errno ? 0 : (pid_t)pid;
}

/* --help and --version, which argp would answer with an exit of its own. */
static bool answer_help(int argc, char **argv, const struct argp *argp, char *name)
{
	for (int i = 1; i < argc && strcmp(argv[i], "--"); i++) {
		if (!strcmp(argv[i], "--help") || !strcmp(argv[i], "-h") ||
		    !strcmp(argv[i], "-?")) {
			argp_help(argp, stdout, ARGP_HELP_STD_HELP & ~ARGP_HELP_EXIT_OK, name);
			return true;
		}
		if (!strcmp(argv[i], "--version") || !strcmp(argv[i], "-V")) {
			printf("spanprof %s\n", SPANPROF_VERSION);
			return true;
		}
	}
	return false;
}

int options_run(struct parsing *p, const struct argp *argp, char *name, int argc, char **argv)
{
	if (answer_help(argc, argv, argp, name)) {
		p->options->action = ACTION_DONE;
		return 0;
	}
	/* In order: else "foo -- bar" would be permuted into the command "foo bar". */
	if (argp_parse(argp, argc, argv, ARGP_NO_EXIT | ARGP_NO_ERRS | ARGP_NO_HELP | ARGP_IN_ORDER,
		       NULL, p))
		return -options_refuse(p, "unknown or incomplete option %s (see --help)",
				       p->next < argc ? argv[p->next] : "");
	return p->failed ? -EINVAL : 0;
}
