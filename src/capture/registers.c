/* SPDX-License-Identifier: Apache-2.0 */
/* One uprobe on a function of this program, whose context is the task's saved registers. */
#include "capture/registers.h"

#include <stdint.h>
#include <unistd.h>

#include "capture/own_text.h"
#include "capture/probes.h"

/* The probe needs an address that is really called. */
static __attribute__((noinline)) int probed_function(volatile int *calls)
{
	return ++*calls;
}

int registers_measure(struct probes *probes, const struct bpf_program *program)
{
	int (*volatile call)(volatile int *calls) = probed_function; /* not a copy of it */
	volatile int calls = 0;
	uint64_t offset = 0;
	int probe = -1, error = own_text_offset(probed_function, &offset);

	if (!error)
		error = probes_attach(probes, program, getpid(), "/proc/self/exe", offset, &probe);
	if (error)
		return error;
	call(&calls);
	probes_detach(probes, probe);
	return 0;
}
