/* SPDX-License-Identifier: Apache-2.0 */
/* See go_frames.h. */
#include "symbolize/go_frames.h"

#include <string.h>

#include "gobinary/pclntab.h"

/* A wrapper that called one of these failed itself: on a nil receiver, say. */
static bool is_panic(const char *function)
{
	return !strcmp(function, "runtime.gopanic") || !strcmp(function, "runtime.sigpanic") ||
	       !strcmp(function, "runtime.panicwrap");
}

bool go_frame_is_shown(const struct go_frame *frames, size_t index)
{
	if (!frames[index].wrapper)
		return true;
	/* The callee of the innermost frame lies in another location and is not looked at. */
	return index && is_panic(frames[index - 1].function);
}
