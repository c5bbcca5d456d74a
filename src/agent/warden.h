/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The process between spanprof and the COMMAND. It outlives spanprof by the moment that it takes to
 * end all that came of the COMMAND: grandchildren too, and after kill -9 as well.
 */
#ifndef AGENT_WARDEN_H
#define AGENT_WARDEN_H

struct invoker;

/* Words to the warden, a byte each: these, or the number of a signal for the COMMAND. */
#define WARDEN_LEAVE 0	 /* the COMMAND has ended: what it left in the background may stay */
#define WARDEN_GO    255 /* start the COMMAND */

enum warden_report_kind {
	WARDEN_STARTED, /* value: 0 or the negative errno of the exec */
	WARDEN_ENDED,	/* value: status as of waitpid */
};

struct warden_report {
	int kind, value;
};

/*
 * Never returns. Reads words until WARDEN_LEAVE or their end, which is the end of spanprof; then
 * all descendants get SIGTERM, after a second SIGKILL. The process must have one thread.
 */
__attribute__((noreturn)) void warden_run(char **argv, const struct invoker *invoker, int words_fd,
					  int reports_fd);

#endif
