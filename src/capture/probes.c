/* SPDX-License-Identifier: Apache-2.0 */
/* Slots that are used again; see probes.h. */
#include "capture/probes.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define PROBES_MAX 8192

struct probes {
	struct bpf_link **links; /* NULL: free */
	size_t slots;
};

int probes_open(struct probes **out)
{
	*out = calloc(1, sizeof(**out));
	return *out ? 0 : -ENOMEM;
}

void probes_close(struct probes *p)
{
	if (!p)
		return;
	for (size_t i = 0; i < p->slots; i++)
		bpf_link__destroy(p->links[i]);
	free(p->links);
	free(p);
}

static int free_slot(struct probes *p, size_t *slot)
{
	size_t slots = p->slots ? p->slots * 2 : 8;
	struct bpf_link **grown;

	for (*slot = 0; *slot < p->slots; ++*slot)
		if (!p->links[*slot])
			return 0;
	if (slots > PROBES_MAX)
		return -ENOSPC;
	grown = realloc(p->links, slots * sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	memset(grown + p->slots, 0, (slots - p->slots) * sizeof(*grown));
	p->links = grown;
	p->slots = slots;
	return 0;
}

int probes_attach(struct probes *p, const struct bpf_program *program, pid_t pid, const char *path,
		  uint64_t file_offset, int *probe)
{
	LIBBPF_OPTS(bpf_uprobe_opts, options);
	size_t slot;
	int error = free_slot(p, &slot);

	if (error)
		return error;
	p->links[slot] = bpf_program__attach_uprobe_opts(program, pid, path, file_offset, &options);
	if (!p->links[slot])
		return -errno;
	*probe = slot;
	return 0;
}

void probes_detach(struct probes *p, int probe)
{
	if (probe < 0 || (size_t)probe >= p->slots)
		return;
	bpf_link__destroy(p->links[probe]);
	p->links[probe] = NULL;
}
