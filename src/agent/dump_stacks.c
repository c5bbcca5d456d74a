/* SPDX-License-Identifier: Apache-2.0 */
/* Each program counter is symbolized once, however many stacks it is on. See dump_stacks.h. */
#include "agent/dump_stacks.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "agent/open_spans.h"
#include "agent/wait_state.h"
#include "base/location.h"
#include "gobinary/gobinary.h"
#include "symbolize/symbolize.h"

static const struct frame unknown = {.function = "(unknown)", .file = ""};

struct naming {
	const struct open_spans *spans;
	const struct gobinary *binary;
	struct symbolizer *symbolizer;
	uint32_t key;
};

static const struct location *locate(const struct naming *n, const struct open_goroutine *g,
				     size_t index)
{
	const struct stack_frame *frame = &n->spans->frames[g->first_frame + index];

	return symbolizer_find(n->symbolizer, n->key, frame->pc, frame->exact, false);
}

static size_t hidden_frames(const struct naming *n, const struct open_goroutine *g)
{
	size_t hidden = 0;

	if (g->state.status != GOROUTINE_WAITING && g->state.status != GOROUTINE_LEAKED)
		return 0;
	while (hidden + 1 < g->frame_count) {
		const struct location *location = locate(n, g, hidden);

		if (!location || !wait_state_hides(location))
			break;
		hidden++;
	}
	return hidden;
}

/* The frames of one goroutine, at most `max`; `to` NULL: they are counted only. */
static size_t name_frames(const struct naming *n, const struct open_goroutine *g,
			  const struct frame **to, size_t max)
{
	size_t count = 0;

	for (size_t i = hidden_frames(n, g); i < g->frame_count; i++) {
		const struct location *location = locate(n, g, i);
		size_t more = location ? location->frame_count : 1;

		if (count + more > max)
			break;
		for (size_t k = 0; k < more && to; k++)
			to[count + k] = location ? &location->frames[k] : &unknown;
		count += more;
	}
	return count;
}

static const char *reason_of(const struct naming *n, const struct open_goroutine *g)
{
	const char *reason = NULL;

	if (g->state.status == GOROUTINE_WAITING || g->state.status == GOROUTINE_LEAKED)
		reason = gobinary_get_wait_reason(n->binary, g->state.wait_reason);
	return reason ? reason : "";
}

int dump_stacks_read(const struct open_spans *spans, const struct gobinary *binary,
		     struct symbolizer *symbolizer, uint32_t key, struct dump_stacks *out)
{
	const struct naming n = {spans, binary, symbolizer, key};
	size_t count = 0;

	out->frames = NULL;
	out->all = calloc(spans->goroutine_count + 1, sizeof(*out->all));
	if (!out->all)
		return -ENOMEM;
	for (size_t i = 0; i < spans->goroutine_count; i++)
		count += out->all[i].frame_count =
			name_frames(&n, &spans->goroutines[i], NULL, SIZE_MAX);
	out->frames = calloc(count + 1, sizeof(*out->frames));
	if (!out->frames)
		return -ENOMEM;
	count = 0;
	for (size_t i = 0; i < spans->goroutine_count; i++) {
		struct standing *s = &out->all[i];

		s->reason = reason_of(&n, &spans->goroutines[i]);
		s->frames = out->frames + count;
		s->frame_count =
			name_frames(&n, &spans->goroutines[i], out->frames + count, s->frame_count);
		count += s->frame_count;
	}
	return 0;
}

void dump_stacks_close(struct dump_stacks *s)
{
	free(s->all);
	free(s->frames);
	*s = (struct dump_stacks){0};
}
