/* SPDX-License-Identifier: Apache-2.0 */
/* Ctrl-C, a service manager's stop, and a terminal that closes. */
#include "agent/ending_signals.h"

void ending_signals_get(sigset_t *out)
{
	sigemptyset(out);
	sigaddset(out, SIGINT);
	sigaddset(out, SIGTERM);
	sigaddset(out, SIGHUP);
}
