/* SPDX-License-Identifier: Apache-2.0 */
/* One uprobe on a function of this program, whose context is the task's saved registers. */
#include "capture/registers.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>

/* The probe needs an address that is really called. */
static __attribute__((noinline)) int probed_function(volatile int *calls)
{
	return ++*calls;
}

/* File offset of an address of our own text, from /proc/self/maps. */
static int offset_of(uint64_t address, uint64_t *offset)
{
	FILE *file = fopen("/proc/self/maps", "re");
	uint64_t start, end, at;
	int error = -ENOENT;
	char line[512];

	if (!file)
		return -errno;
	while (error && fgets(line, sizeof(line), file)) {
		if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %*s %" SCNx64, &start, &end, &at) != 3)
			continue;
		if (address >= start && address < end) {
			*offset = address - start + at;
			error = 0;
		}
	}
	fclose(file);
	return error;
}

int registers_measure(const struct bpf_program *program)
{
	LIBBPF_OPTS(bpf_uprobe_opts, options);
	int (*volatile call)(volatile int *calls) = probed_function; /* not a copy of it */
	volatile int calls = 0;
	struct bpf_link *link;
	uint64_t offset = 0;
	int error = offset_of((uint64_t)(uintptr_t)probed_function, &offset);

	if (error)
		return error;
	link = bpf_program__attach_uprobe_opts(program, 0, "/proc/self/exe", offset, &options);
	if (!link)
		return -errno;
	call(&calls);
	bpf_link__destroy(link);
	return 0;
}
