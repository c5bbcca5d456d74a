/* SPDX-License-Identifier: Apache-2.0 */
/* All goroutines of a Go process, as its runtime lists them in memory. */
#ifndef PROCESS_GOROUTINES_H
#define PROCESS_GOROUTINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct gobinary_info;
struct process;

/* runtime's g.atomicstatus, without its scan bit */
enum goroutine_status {
	GOROUTINE_IDLE = 0,
	GOROUTINE_RUNNABLE = 1,
	GOROUTINE_RUNNING = 2,
	GOROUTINE_SYSCALL = 3,
	GOROUTINE_WAITING = 4,
	GOROUTINE_DEAD = 6,
	GOROUTINE_LEAKED = 10, /* waits for what can never come, as the collector has found */
	GOROUTINE_SPARE = 11,  /* for a thread of C that calls Go */
};

struct goroutine_state {
	uint64_t g; /* address of the runtime.g */
	uint64_t goid;
	uint32_t status;
	uint8_t wait_reason; /* while it waits; see gobinary_get_wait_reason */
	bool in_syscall;     /* sp, pc and fp are those of the system call */
	uint64_t m;	     /* address of the runtime.m that runs it or its system call; 0 none */
	uint64_t stack_low, stack_high;
	uint64_t sp, pc, fp; /* where it was left; means nothing while it runs. fp 0: unknown */
};

/*
 * The addresses of all g's, dead ones too, at most `max`; the caller frees them. -ENOTSUP: where
 * the runtime lists them was not found; -ENOMEM, -EFAULT, -ESRCH …
 */
int goroutines_list(const struct process *p, const struct gobinary_info *info, uint64_t bias,
		    size_t max, uint64_t **list, size_t *count);
/* How many that are; the list only grows. Errors as those of goroutines_list. */
int goroutines_count(const struct process *p, const struct gobinary_info *info, uint64_t bias,
		     size_t max, size_t *count);
/*
 * Reads `count` of them at once; neighbours in memory, when they follow one another in the list,
 * cost a seventh of others. One that cannot be read, or whose stack is implausible, has
 * goid 0. Errors as of remote_pieces_read.
 */
int goroutines_read(const struct process *p, const struct gobinary_info *info, const uint64_t *list,
		    size_t count, struct goroutine_state *out);
/* Whether there is one: what was read makes sense, and it has begun and not ended. */
bool goroutine_exists(const struct goroutine_state *g);
/* Whether it is where sp and pc say: on no CPU. */
bool goroutine_stands_still(const struct goroutine_state *g);
/* Whether one that stood still did so all the time between two readings, as far as they show. */
bool goroutine_has_stayed(const struct goroutine_state *before, const struct goroutine_state *now);

#endif
