/* SPDX-License-Identifier: Apache-2.0 */
/* process_vm_readv stops at the first piece that cannot be read; see remote_pieces.h. */
#include "process/remote_pieces.h"

#include <errno.h>
#include <sys/uio.h>

#include "process/process.h"

#define PIECES_PER_CALL 256

/* Marks what one call read; returns how many pieces are settled. */
static size_t mark(struct remote_piece *pieces, size_t count, ssize_t bytes)
{
	size_t left = bytes > 0 ? (size_t)bytes : 0, done = 0;

	while (done < count && pieces[done].size <= left) {
		left -= pieces[done].size;
		pieces[done++].read = true;
	}
	return done < count ? done + 1 : done; /* the one behind could not be read */
}

int remote_pieces_read(const struct process *p, struct remote_piece *pieces, size_t count)
{
	struct iovec local[PIECES_PER_CALL], remote[PIECES_PER_CALL];

	for (size_t i = 0; i < count; i++)
		pieces[i].read = false;
	for (size_t at = 0; at < count;) {
		size_t batch = count - at < PIECES_PER_CALL ? count - at : PIECES_PER_CALL;
		ssize_t bytes;

		for (size_t i = 0; i < batch; i++) {
			struct remote_piece *piece = &pieces[at + i];

			local[i] = (struct iovec){piece->to, piece->size};
			remote[i] = (struct iovec){(void *)(uintptr_t)piece->address, piece->size};
		}
		bytes = process_vm_readv(process_get_pid(p), local, batch, remote, batch, 0);
		if (bytes < 0 && errno != EFAULT)
			return -errno;
		at += mark(pieces + at, batch, bytes);
	}
	return process_is_alive(p) ? 0 : -ESRCH;
}
