/* SPDX-License-Identifier: Apache-2.0 */
/* runtime.allgs is a slice that only grows; its elements are never freed, only used again. */
#include "process/goroutines.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "gobinary/gobinary.h"
#include "process/process.h"
#include "process/remote_pieces.h"

#define G_BYTES_MAX    1024 /* also of what lies between two: rather read than asked for apart */
#define STACK_MAX      (1ull << 30) /* Go's own limit */
#define STATUS_SCANNED 0x1000	    /* the collector looks at its stack */
#define BATCH	       256

static int read_slice(const struct process *p, const struct gobinary_info *info, uint64_t bias,
		      size_t max, uint64_t *data, size_t *count)
{
	uint64_t slice[3]; /* data, length, capacity */
	int error;

	*count = 0;
	if (!info->allgs || !info->runtime.g_status)
		return -ENOTSUP;
	error = process_read_memory(p, info->allgs + bias, slice, sizeof(slice));
	if (error)
		return error;
	/* The three words may be of two moments: an old array has room for fewer. */
	*count = slice[1] < slice[2] ? slice[1] : slice[2];
	*count = *count < max ? *count : max;
	*data = slice[0];
	return 0;
}

int goroutines_count(const struct process *p, const struct gobinary_info *info, uint64_t bias,
		     size_t max, size_t *count)
{
	uint64_t data;

	return read_slice(p, info, bias, max, &data, count);
}

int goroutines_list(const struct process *p, const struct gobinary_info *info, uint64_t bias,
		    size_t max, uint64_t **list, size_t *count)
{
	uint64_t data;
	int error = read_slice(p, info, bias, max, &data, count);

	*list = NULL;
	if (error)
		return error;
	*list = malloc(*count * sizeof(**list) + 1);
	if (!*list)
		return -ENOMEM;
	error = *count ? process_read_memory(p, data, *list, *count * sizeof(**list)) : 0;
	if (error) {
		free(*list);
		*list = NULL;
		*count = 0;
	}
	return error;
}

static size_t g_size(const struct go_runtime_offsets *at)
{
	const uint16_t offsets[] = {at->g_m,	      at->g_goid,	at->g_stack_hi,
				    at->g_sched_sp,   at->g_sched_pc,	at->g_sched_bp,
				    at->g_status,     at->g_syscall_sp, at->g_syscall_pc,
				    at->g_syscall_bp, at->g_wait_reason};
	size_t size = 0;

	for (size_t i = 0; i < sizeof(offsets) / sizeof(*offsets); i++)
		size = offsets[i] + 8u > size ? offsets[i] + 8u : size;
	return size < G_BYTES_MAX ? size : G_BYTES_MAX;
}

/* What was read of a g. */
struct g_bytes {
	const uint8_t *bytes;
	size_t size;
};

static uint64_t word(const struct g_bytes *g, uint16_t offset)
{
	uint64_t value = 0;

	if (offset + sizeof(value) <= g->size)
		memcpy(&value, g->bytes + offset, sizeof(value));
	return value;
}

static void decode(const struct go_runtime_offsets *at, const struct g_bytes *g,
		   struct goroutine_state *out)
{
	uint64_t syscall_sp = word(g, at->g_syscall_sp);

	out->status = (uint32_t)word(g, at->g_status) & ~STATUS_SCANNED;
	out->wait_reason = at->g_wait_reason ? (uint8_t)word(g, at->g_wait_reason) : 0;
	out->in_syscall = syscall_sp != 0;
	out->m = word(g, at->g_m);
	out->stack_low = word(g, at->g_stack_hi - 8);
	out->stack_high = word(g, at->g_stack_hi);
	out->sp = syscall_sp ? syscall_sp : word(g, at->g_sched_sp);
	out->pc = syscall_sp ? word(g, at->g_syscall_pc) : word(g, at->g_sched_pc);
	if (!syscall_sp)
		out->fp = word(g, at->g_sched_bp);
	else
		out->fp = at->g_syscall_bp ? word(g, at->g_syscall_bp) : 0;
	out->goid = word(g, at->g_goid);
	if (out->stack_high <= out->stack_low || out->stack_high - out->stack_low > STACK_MAX ||
	    (out->status != GOROUTINE_RUNNING &&
	     (out->sp < out->stack_low || out->sp > out->stack_high || out->sp & 7)))
		out->goid = 0;
}

/* A batch under way: neighbours are read as one piece, and each g lies in one of them. */
struct batch {
	struct remote_piece pieces[BATCH];
	size_t piece_count;
	uint16_t piece_of[BATCH];
	uint8_t *bytes; /* G_BYTES_MAX for each, and once more */
};

static void lay_out(struct batch *b, const uint64_t *list, size_t count, size_t size)
{
	uint8_t *to = b->bytes;

	b->piece_count = 0;
	for (size_t i = 0; i < count; i++) {
		struct remote_piece *last = i ? &b->pieces[b->piece_count - 1] : NULL;

		if (last && list[i] > list[i - 1] && list[i] - list[i - 1] <= G_BYTES_MAX) {
			last->size = (size_t)(list[i] - last->address) + size;
		} else {
			b->pieces[b->piece_count++] =
				(struct remote_piece){list[i], to, size, false};
			last = &b->pieces[b->piece_count - 1];
		}
		b->piece_of[i] = (uint16_t)(b->piece_count - 1);
		to = (uint8_t *)last->to + last->size;
	}
}

/* One g of several whose piece could not be read whole. */
static bool read_alone(const struct process *p, uint64_t address, uint8_t *to, size_t size)
{
	return !process_read_memory(p, address, to, size);
}

static int read_batch(const struct process *p, const struct go_runtime_offsets *at,
		      const uint64_t *list, size_t count, struct batch *b,
		      struct goroutine_state *out)
{
	size_t size = g_size(at);
	int error;

	lay_out(b, list, count, size);
	error = remote_pieces_read(p, b->pieces, b->piece_count);
	for (size_t i = 0; i < count && !error; i++) {
		const struct remote_piece *piece = &b->pieces[b->piece_of[i]];
		uint8_t *g = (uint8_t *)piece->to + (list[i] - piece->address);

		out[i] = (struct goroutine_state){.g = list[i]};
		if (piece->read || (piece->size > size && read_alone(p, list[i], g, size)))
			decode(at, &(struct g_bytes){g, size}, &out[i]);
	}
	return error;
}

int goroutines_read(const struct process *p, const struct gobinary_info *info, const uint64_t *list,
		    size_t count, struct goroutine_state *out)
{
	size_t batch = count < BATCH ? count : BATCH;
	struct batch *b = malloc(sizeof(*b));
	int error = 0;

	if (b)
		b->bytes = malloc((batch + 1) * G_BYTES_MAX);
	if (!b || !b->bytes)
		error = -ENOMEM;
	for (size_t at = 0; at < count && !error; at += BATCH)
		error = read_batch(p, &info->runtime, list + at,
				   count - at < BATCH ? count - at : BATCH, b, out + at);
	if (b)
		free(b->bytes);
	free(b);
	return error;
}

bool goroutine_exists(const struct goroutine_state *g)
{
	return g->goid && g->status != GOROUTINE_IDLE && g->status != GOROUTINE_DEAD &&
	       g->status != GOROUTINE_SPARE;
}

bool goroutine_stands_still(const struct goroutine_state *g)
{
	return g->status == GOROUTINE_WAITING || g->status == GOROUTINE_RUNNABLE ||
	       g->status == GOROUTINE_SYSCALL || g->status == GOROUTINE_LEAKED;
}

bool goroutine_has_stayed(const struct goroutine_state *before, const struct goroutine_state *now)
{
	return now->goid == before->goid && now->status == before->status &&
	       now->sp == before->sp && now->pc == before->pc;
}
