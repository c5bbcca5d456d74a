/* SPDX-License-Identifier: Apache-2.0 */
/* Private to symbolize: which frames of a Go address are shown. */
#ifndef SYMBOLIZE_GO_FRAMES_H
#define SYMBOLIZE_GO_FRAMES_H

#include <stdbool.h>
#include <stddef.h>

struct go_frame;

/*
 * Whether frames[index] (innermost first) is shown: a compiler-made wrapper is not, unless it
 * called into a panic, as Go's runtime decides it (runtime/traceback.go, elideWrapperCalling).
 */
bool go_frame_is_shown(const struct go_frame *frames, size_t index);

#endif
