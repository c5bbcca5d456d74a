/* SPDX-License-Identifier: Apache-2.0 */
/* Many small pieces of a process's memory in few system calls. */
#ifndef PROCESS_REMOTE_PIECES_H
#define PROCESS_REMOTE_PIECES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct process;

struct remote_piece {
	uint64_t address;
	void *to;
	size_t size;
	bool read; /* result: all of it */
};

/*
 * Reads them in order, some hundred a call; one that cannot be read costs a call of its own.
 * -ESRCH, -EPERM: nothing can be believed; else 0.
 */
int remote_pieces_read(const struct process *p, struct remote_piece *pieces, size_t count);

#endif
