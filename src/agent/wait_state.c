/* SPDX-License-Identifier: Apache-2.0 */
/* Reasons are the runtime's own words. See wait_state.h. */
#include "agent/wait_state.h"

#include <stdio.h>
#include <string.h>

#include "base/location.h"
#include "gobinary/gobinary.h"

static const enum profile_wait_kind kinds[] = {
	[WAITING_PARKED] = PROFILE_WAIT_PARKED,	      [WAITING_RUNNABLE] = PROFILE_WAIT_RUNNABLE,
	[WAITING_SYSCALL] = PROFILE_WAIT_SYSCALL,     [WAITING_NO_CPU] = PROFILE_WAIT_NO_CPU,
	[WAITING_THROTTLED] = PROFILE_WAIT_THROTTLED,
};

void wait_state_name(const struct gobinary *binary, const struct waiting_record *record,
		     char name[WAIT_STATE_SIZE])
{
	const char *reason = NULL;

	if (record->state == WAITING_PARKED)
		reason = gobinary_get_wait_reason(binary, record->reason);
	if (record->state == WAITING_SYSCALL && record->channel[0])
		snprintf(name, WAIT_STATE_SIZE, "[%s: %s]", profile_wait_word(PROFILE_WAIT_SYSCALL),
			 record->channel);
	else
		snprintf(name, WAIT_STATE_SIZE, "[%s]",
			 reason && *reason ? reason : profile_wait_word(kinds[record->state]));
}

enum profile_wait_kind wait_state_kind(enum waiting_state state)
{
	return kinds[state];
}

static bool begins_with(const char *text, const char *with)
{
	return !strncmp(text, with, strlen(with));
}

/* The function that was called, whatever was inlined in it; NULL: of no Go code. */
static const char *function_of(const struct location *location)
{
	if (location->kind != FRAME_GO || !location->frame_count)
		return NULL;
	return location->frames[location->frame_count - 1].function;
}

bool wait_state_hides(const struct location *location)
{
	const char *function = function_of(location);

	return function &&
	       (begins_with(function, "runtime.") || begins_with(function, "internal/runtime/"));
}

bool wait_state_is_system(const struct location *const *stack, size_t count)
{
	/* Those that run the program's code; see isSystemGoroutine in runtime/traceback.go. */
	static const char *const of_program[] = {"runtime.main", "runtime.handleAsyncEvent",
						 "runtime.corostart"};
	const char *function = count ? function_of(stack[count - 1]) : NULL;

	if (!function)
		return false;
	for (size_t i = 0; i < sizeof(of_program) / sizeof(of_program[0]); i++)
		if (!strcmp(function, of_program[i]))
			return false;
	while (count && wait_state_hides(stack[count - 1]))
		count--;
	return !count;
}
