/* SPDX-License-Identifier: Apache-2.0 */
/* spanprof's entry: parse, dispatch, exit code. */
#include <unistd.h>

#include "agent/agent.h"
#include "agent/options.h"
#include "agent/show.h"
#include "base/log.h"

int main(int argc, char **argv)
{
	struct log log = {.fd = STDERR_FILENO};
	struct options options;
	char why[512];

	if (options_parse(argc, argv, &options, why, sizeof(why))) {
		log_error(&log, "%s", why);
		return EXIT_USAGE;
	}
	log.verbose = options.verbose;
	switch (options.action) {
	case ACTION_DONE:
		return EXIT_DONE;
	case ACTION_SHOW:
		return show_run(&options, &log);
	case ACTION_PROFILE:
		break;
	}
	return agent_run(&options, &log);
}
