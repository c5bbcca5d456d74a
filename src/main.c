/* SPDX-License-Identifier: Apache-2.0 */
/* spanprof's entry: parse, dispatch, exit code. */
#include <fcntl.h>
#include <unistd.h>

#include "agent/agent.h"
#include "agent/dump.h"
#include "agent/options.h"
#include "agent/show.h"
#include "base/log.h"

/* Descriptors 0 to 2 may be closed: what is opened next must not become the log or the report. */
static void fill_standard_descriptors(void)
{
	int fd;

	do
		fd = open("/dev/null", O_RDWR);
	while (fd >= 0 && fd <= STDERR_FILENO);
	if (fd >= 0)
		close(fd);
}

int main(int argc, char **argv)
{
	struct log log = {.fd = STDERR_FILENO};
	struct options options;
	char why[512];

	fill_standard_descriptors();
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
	case ACTION_DUMP:
		return dump_run(&options, &log);
	case ACTION_PROFILE:
		break;
	}
	return agent_run(&options, &log);
}
