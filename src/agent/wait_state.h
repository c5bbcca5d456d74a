/* SPDX-License-Identifier: Apache-2.0 */
/* What a goroutine does instead of running, in words: the leaf of its stack. */
#ifndef AGENT_WAIT_STATE_H
#define AGENT_WAIT_STATE_H

#include <stdbool.h>
#include <stddef.h>

#include "profile/profile.h"
#include "waiting/waiting.h"

struct gobinary;
struct location;

#define WAIT_STATE_SIZE 80

/* "[chan receive]", "[runnable]", "[syscall: do_epoll_wait]" … */
void wait_state_name(const struct gobinary *binary, const struct waiting_record *record,
		     char name[WAIT_STATE_SIZE]);
enum profile_wait_kind wait_state_kind(enum waiting_state state);
/*
 * Whether it is the stack, leaf first, of one of the runtime's own goroutines, which runs none of
 * the program's code. One that is not known is not.
 */
bool wait_state_is_system(const struct location *const *stack, size_t count);
/* Whether the location is the runtime's own way to park a goroutine. */
bool wait_state_hides(const struct location *location);

#endif
