/* SPDX-License-Identifier: Apache-2.0 */
/* A child of its own thread group, on a stack within the frame of the thread that waits for it. */
#include "capture/shielded.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <sys/wait.h>
#include <unistd.h>

#define STACK_BYTES 16384

struct call {
	int (*work)(void *context);
	void *context;
	int result;
};

/* Its return ends the child alone: no handler of exit() is called. */
static int run(void *argument)
{
	struct call *call = argument;

	(void)setpgid(0, 0); /* SIGKILL to a whole group is not for the child */
	call->result = call->work(call->context);
	return 0;
}

int shielded_call(int (*work)(void *context), void *context)
{
	struct call call = {.work = work, .context = context, .result = -EINTR};
	char stack[STACK_BYTES] __attribute__((aligned(16)));
	sigset_t all, before;
	pid_t child;

	/* The child inherits the mask; and the handlers, which are not to run twice. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	/* No signal at its exit: nobody else's waitpid sees it. */
	child = clone(run, stack + sizeof(stack), CLONE_VM | CLONE_VFORK | CLONE_FILES, &call);
	if (child < 0)
		call.result = work(context);
	while (child > 0 && waitpid(child, NULL, __WALL) < 0 && errno == EINTR)
		continue;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return call.result;
}
