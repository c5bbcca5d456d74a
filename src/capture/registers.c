/* SPDX-License-Identifier: Apache-2.0 */
/* One uprobe on a function of this program, whose context is the task's saved registers. */
#include "capture/registers.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <stdint.h>

#include "capture/own_text.h"

/* The probe needs an address that is really called. */
static __attribute__((noinline)) int probed_function(volatile int *calls)
{
	return ++*calls;
}

int registers_measure(const struct bpf_program *program)
{
	LIBBPF_OPTS(bpf_uprobe_opts, options);
	int (*volatile call)(volatile int *calls) = probed_function; /* not a copy of it */
	volatile int calls = 0;
	struct bpf_link *link;
	uint64_t offset = 0;
	int error = own_text_offset(probed_function, &offset);

	if (error)
		return error;
	link = bpf_program__attach_uprobe_opts(program, 0, "/proc/self/exe", offset, &options);
	if (!link)
		return -errno;
	call(&calls);
	bpf_link__destroy(link);
	return 0;
}
