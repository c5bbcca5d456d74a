/* SPDX-License-Identifier: Apache-2.0 */
/* runtime.allgs is a slice that only grows; its elements are never freed, only used again. */
#include "process/goroutines.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "gobinary/gobinary.h"
#include "process/process.h"
#include "process/remote_pieces.h"

#define G_BYTES_MAX    1024
#define STACK_MAX      (1ull << 30) /* Go's own limit */
#define STATUS_SCANNED 0x1000	    /* the collector looks at its stack */
#define BATCH	       256

int goroutines_list(const struct process *p, const struct gobinary_info *info, uint64_t bias,
		    size_t max, uint64_t **list, size_t *count)
{
	uint64_t slice[3]; /* data, length, capacity */
	int error;

	*list = NULL;
	*count = 0;
	if (!info->allgs || !info->runtime.g_status)
		return -ENOTSUP;
	error = process_read_memory(p, info->allgs + bias, slice, sizeof(slice));
	if (error)
		return error;
	/* The three words may be of two moments: an old array has room for fewer. */
	*count = slice[1] < slice[2] ? slice[1] : slice[2];
	*count = *count < max ? *count : max;
	*list = malloc(*count * sizeof(**list) + 1);
	if (!*list)
		return -ENOMEM;
	error = *count ? process_read_memory(p, slice[0], *list, *count * sizeof(**list)) : 0;
	if (error) {
		free(*list);
		*list = NULL;
		*count = 0;
	}
	return error;
}

static size_t g_size(const struct go_runtime_offsets *at)
{
	const uint16_t offsets[] = {at->g_goid,	      at->g_stack_hi,	at->g_sched_sp,
				    at->g_sched_pc,   at->g_sched_bp,	at->g_status,
				    at->g_syscall_sp, at->g_syscall_pc, at->g_labels};
	size_t size = 0;

	for (size_t i = 0; i < sizeof(offsets) / sizeof(*offsets); i++)
		size = offsets[i] + 8u > size ? offsets[i] + 8u : size;
	return size < G_BYTES_MAX ? size : G_BYTES_MAX;
}

static uint64_t word(const uint8_t *g, uint16_t offset)
{
	uint64_t value = 0;

	if (offset + sizeof(value) <= G_BYTES_MAX)
		memcpy(&value, g + offset, sizeof(value));
	return value;
}

static void decode(const struct go_runtime_offsets *at, const uint8_t *g,
		   struct goroutine_state *out)
{
	uint64_t syscall_sp = word(g, at->g_syscall_sp);

	out->status = (uint32_t)word(g, at->g_status) & ~STATUS_SCANNED;
	out->stack_low = word(g, at->g_stack_hi - 8);
	out->stack_high = word(g, at->g_stack_hi);
	out->sp = syscall_sp ? syscall_sp : word(g, at->g_sched_sp);
	out->pc = syscall_sp ? word(g, at->g_syscall_pc) : word(g, at->g_sched_pc);
	out->fp = syscall_sp ? 0 : word(g, at->g_sched_bp);
	out->goid = word(g, at->g_goid);
	if (out->stack_high <= out->stack_low || out->stack_high - out->stack_low > STACK_MAX ||
	    (out->status != GOROUTINE_RUNNING &&
	     (out->sp < out->stack_low || out->sp > out->stack_high || out->sp & 7)))
		out->goid = 0;
}

static int read_batch(const struct process *p, const struct go_runtime_offsets *at,
		      const uint64_t *list, size_t count, uint8_t *bytes,
		      struct goroutine_state *out)
{
	struct remote_piece pieces[BATCH];
	size_t size = g_size(at);
	int error;

	for (size_t i = 0; i < count; i++)
		pieces[i] = (struct remote_piece){list[i], bytes + i * G_BYTES_MAX, size, false};
	error = remote_pieces_read(p, pieces, count);
	for (size_t i = 0; i < count && !error; i++) {
		out[i] = (struct goroutine_state){.g = list[i]};
		if (pieces[i].read)
			decode(at, bytes + i * G_BYTES_MAX, &out[i]);
	}
	return error;
}

int goroutines_read(const struct process *p, const struct gobinary_info *info, const uint64_t *list,
		    size_t count, struct goroutine_state *out)
{
	uint8_t *bytes = calloc(count < BATCH ? count : BATCH, G_BYTES_MAX);
	int error = bytes ? 0 : -ENOMEM;

	for (size_t at = 0; at < count && !error; at += BATCH)
		error = read_batch(p, &info->runtime, list + at,
				   count - at < BATCH ? count - at : BATCH, bytes, out + at);
	free(bytes);
	return error;
}
