/* SPDX-License-Identifier: Apache-2.0 */
/* The uprobes that are attached, each known by a number. */
#ifndef CAPTURE_PROBES_H
#define CAPTURE_PROBES_H

#include <stdint.h>
#include <sys/types.h>

struct bpf_program;
struct probes;

int probes_open(struct probes **out);
/* Detaches all of them. */
void probes_close(struct probes *p);
/* pid −1: every process that has the file. -ENOSPC, -ENOMEM, or what the kernel says. */
int probes_attach(struct probes *p, const struct bpf_program *program, pid_t pid, const char *path,
		  uint64_t file_offset, int *probe);
/* A number below 0 is none. */
void probes_detach(struct probes *p, int probe);

#endif
