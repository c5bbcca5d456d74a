/* SPDX-License-Identifier: Apache-2.0 */
/* The threads of a process: their numbers, what they do, and what the kernel has counted of them.
 */
#ifndef PROCESS_THREADS_H
#define PROCESS_THREADS_H

#include <stddef.h>
#include <stdint.h>

struct process;
struct threads;

struct thread_state {
	char state; /* as proc(5) has it: 'R' runs or waits for a CPU, 'S', 'D' …; 0 unknown */
	uint64_t cpu_ns;    /* that it was on a CPU, since it began */
	uint64_t queued_ns; /* that it could have run and had none */
};

/* `p` is lent for as long. -ENOMEM. */
int threads_open(const struct process *p, struct threads **out);
void threads_close(struct threads *t);
/*
 * `number` as the process itself sees it: in a container that is not the host's. -ESRCH: it is
 * gone, or not known yet; -ENOTSUP: this kernel does not count.
 */
int threads_read(struct threads *t, uint64_t number, struct thread_state *out);
/* The function of the kernel in which it waits, "" unknown. */
void threads_read_wait_channel(struct threads *t, uint64_t number, char *name, size_t size);

#endif
