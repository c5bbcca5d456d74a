/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The live words of the stack that point into the heap are followed, all at once; where one leads
 * to what can be an open span, the goroutine has it.
 */
#include "agent/stack_spans.h"

#include <errno.h>
#include <spanprof/target.h>
#include <stdlib.h>
#include <string.h>

#include "gobinary/gobinary.h"
#include "gobinary/pclntab.h"
#include "process/process.h"
#include "process/remote_pieces.h"

#define WORDS_MAX      1024 /* pointers of one stack that are followed */
#define SPAN_BYTES_MAX 1024
#define CONTEXT_LINKS  32 /* from one context to the one that it was made from */

/* context.valueCtx; the other contexts, too, begin with the one that they were made from. */
struct value_context {
	uint64_t parent_itab, parent;
	uint64_t key_type, key;
	uint64_t value_type, value;
};

struct stack_spans {
	struct stack_spans_process process;
	const struct gobinary_info *info;
	uint8_t *bytes; /* of what the pointers point to */
	struct live_stack_memo memo;
	/* Of the goroutine at hand: */
	uint64_t g;
	const struct still_stack *stack;
	struct remote_piece pieces[WORDS_MAX]; /* each address once */
	bool used[WORDS_MAX];
	size_t count;
	struct stack_spans_found *found;
	/* Contexts that are followed, where they have got to, and the spans they led to */
	struct value_context contexts[WORDS_MAX];
	size_t context_count;
	uint64_t led_to[STACK_SPANS_MAX];
	size_t led_to_count;
};

int stack_spans_open(const struct stack_spans_process *process, struct stack_spans **out)
{
	struct stack_spans *s = calloc(1, sizeof(*s));

	*out = NULL;
	if (!s)
		return -ENOMEM;
	s->process = *process;
	s->info = gobinary_get_info(process->binary);
	s->bytes = malloc((size_t)WORDS_MAX * SPAN_BYTES_MAX);
	if (!s->bytes) {
		free(s);
		return -ENOMEM;
	}
	*out = s;
	return 0;
}

void stack_spans_close(struct stack_spans *s)
{
	if (!s)
		return;
	free(s->bytes);
	free(s);
}

static bool is_in_heap(void *context, uint64_t word)
{
	const struct stack_spans *s = context;
	uint64_t into_stack = word - s->stack->words.address;

	return !((word ^ s->g) >> TARGET_ARENA_BITS) && !(word & 7) &&
	       into_stack >= s->stack->words.count * sizeof(*s->stack->words.words);
}

/*
 * A deferred span.End() keeps its code, then the span as an interface: words before the one at
 * hand, in a variable of their own, of which the compiler's maps do not tell whether it is in use.
 * (Return addresses stand before interfaces as well, and functions that were deferred once lie
 * about.)
 */
static bool is_deferred(const struct stack_spans *s, const struct live_word *w)
{
	struct pclntab *table = gobinary_get_pclntab(s->process.binary);
	uint64_t bias = s->process.bias, code, itab;

	return s->info->itabs.span_count &&
	       stack_words_get(&s->stack->words, w->address - 8, &itab) &&
	       itab == s->info->itabs.span[0] + bias &&
	       stack_words_get(&s->stack->words, w->address - 16, &code) &&
	       pclntab_begins_at(table, code - bias) &&
	       pclntab_has_stack_object(table, w->pc, true,
					(int64_t)(w->limit - (w->address - 16)));
}

static void keep_word(void *context, const struct live_word *w)
{
	struct stack_spans *s = context;
	size_t size = span_memory_size(&s->info->span);
	bool used = w->used || is_deferred(s, w);

	for (size_t i = 0; i < s->count; i++) {
		if (s->pieces[i].address == w->word) {
			s->used[i] |= used;
			return;
		}
	}
	if (s->count == WORDS_MAX)
		return;
	if (size < sizeof(struct value_context))
		size = sizeof(struct value_context);
	s->used[s->count] = used;
	s->pieces[s->count] =
		(struct remote_piece){w->word, s->bytes + s->count * SPAN_BYTES_MAX, size, false};
	s->count++;
}

static void keep_frame(void *context, uint64_t pc, bool exact)
{
	struct stack_spans_found *found = ((struct stack_spans *)context)->found;

	if (found->frame_count < STACK_FRAMES_MAX)
		found->frames[found->frame_count] = (struct stack_frame){pc, exact};
	found->frame_count++;
}

static bool is_known(const struct stack_spans_found *found, uint64_t address)
{
	for (size_t i = 0; i < found->count; i++)
		if (found->spans[i].address == address)
			return true;
	return false;
}

static bool has_parent(const struct stack_spans_found *found, const struct span_memory *span)
{
	for (size_t i = 0; i < found->count; i++)
		if (!memcmp(span->parent_id, found->spans[i].span_id, sizeof(span->parent_id)))
			return true;
	return false;
}

static uint64_t first_word(const struct remote_piece *piece)
{
	uint64_t first;

	memcpy(&first, piece->to, sizeof(first));
	return first;
}

/* Whether an open span is there. It begins with zeroes: an interface embedded, or a mutex. */
static bool decode(const struct stack_spans *s, size_t index, struct span_memory *span)
{
	const struct remote_piece *piece = &s->pieces[index];

	if (!piece->read || first_word(piece))
		return false;
	span_memory_decode(&s->info->span, piece->address, piece->to, span);
	return span_memory_is_open(span) && span_memory_is_plausible(span, s->process.now_ns);
}

/*
 * Of words that do not show as used, for the address of a variable was taken, those count that
 * lead to an open child of a span that is known, as long as that finds more.
 */
static void find_held(struct stack_spans *s)
{
	struct stack_spans_found *found = s->found;
	struct span_memory span;
	size_t known;

	for (size_t i = 0; i < s->count && found->count < STACK_SPANS_MAX; i++)
		if (s->used[i] && decode(s, i, &span) && !is_known(found, span.address))
			found->spans[found->count++] = span;
	do {
		known = found->count;
		for (size_t i = 0; i < s->count && known && found->count < STACK_SPANS_MAX; i++)
			if (!s->used[i] && decode(s, i, &span) && !is_known(found, span.address) &&
			    has_parent(found, &span))
				found->spans[found->count++] = span;
	} while (found->count > known);
}

static int by_start(const void *left, const void *right)
{
	const struct span_memory *a = left, *b = right;
	uint64_t from = go_time_wall_ns(a->start), to = go_time_wall_ns(b->start);

	return from < to ? -1 : from > to;
}

int stack_spans_find(struct stack_spans *s, uint64_t g, const struct still_stack *stack,
		     struct stack_spans_found *out)
{
	struct live_stack_query query = {s, is_in_heap, keep_word, keep_frame, &s->memo};
	int error;

	s->g = g;
	s->stack = stack;
	s->count = 0;
	s->found = out;
	out->count = out->led_to = out->frame_count = 0;
	out->interrupted = live_stack_each(s->process.binary, s->process.bias, stack, &query);
	error = remote_pieces_read(s->process.process, s->pieces, s->count);
	if (error)
		return error;
	find_held(s);
	qsort(out->spans, out->count, sizeof(*out->spans), by_start);
	return 0;
}

static bool is_context(const struct stack_spans *s, uint64_t itab)
{
	for (size_t i = 0; i < s->info->itabs.context_count; i++)
		if (itab == s->info->itabs.context[i] + s->process.bias)
			return true;
	return false;
}

/* What the words in use point to, other than spans. */
static void begin_contexts(struct stack_spans *s)
{
	s->context_count = s->led_to_count = 0;
	for (size_t i = 0; i < s->count; i++)
		if (s->used[i] && s->pieces[i].read && first_word(&s->pieces[i]))
			memcpy(&s->contexts[s->context_count++], s->pieces[i].to,
			       sizeof(struct value_context));
}

static void lead_to(struct stack_spans *s, uint64_t span)
{
	if (is_known(s->found, span))
		return;
	for (size_t i = 0; i < s->led_to_count; i++)
		if (s->led_to[i] == span)
			return;
	if (s->led_to_count < STACK_SPANS_MAX)
		s->led_to[s->led_to_count++] = span;
}

/* Those of the contexts that have no span, not even one that is sampled out; their number. */
static size_t list_parents(struct stack_spans *s)
{
	const struct gobinary_info *info = s->info;
	uint64_t bias = s->process.bias;
	size_t count = 0;

	for (size_t i = 0; i < s->context_count; i++) {
		const struct value_context *c = &s->contexts[i];

		if (info->span_type && c->value_type == info->span_type + bias)
			lead_to(s, c->value);
		else if (!(info->unsampled_type && c->value_type == info->unsampled_type + bias) &&
			 is_context(s, c->parent_itab))
			s->pieces[count++].address = c->parent;
	}
	return count;
}

/* Goes on from each context to its parent, where it has no span itself. */
static int go_to_parents(struct stack_spans *s)
{
	size_t count = list_parents(s);
	int error;

	for (size_t i = 0; i < count; i++)
		s->pieces[i] = (struct remote_piece){s->pieces[i].address, &s->contexts[i],
						     sizeof(s->contexts[i]), false};
	s->context_count = 0;
	error = count ? remote_pieces_read(s->process.process, s->pieces, count) : 0;
	for (size_t i = 0; i < count && !error; i++)
		if (s->pieces[i].read)
			s->contexts[s->context_count++] = s->contexts[i];
	return error;
}

static int read_led_to(struct stack_spans *s)
{
	size_t size = span_memory_size(&s->info->span);

	for (size_t i = 0; i < s->led_to_count; i++)
		s->pieces[i] = (struct remote_piece){s->led_to[i], s->bytes + i * SPAN_BYTES_MAX,
						     size, false};
	return remote_pieces_read(s->process.process, s->pieces, s->led_to_count);
}

int stack_spans_follow_contexts(struct stack_spans *s, struct stack_spans_found *out)
{
	struct span_memory span;
	int error = 0;

	begin_contexts(s);
	for (int i = 0; i < CONTEXT_LINKS && s->context_count && !error; i++)
		error = go_to_parents(s);
	if (!error && s->led_to_count)
		error = read_led_to(s);
	if (error)
		return error;
	for (size_t i = 0; i < s->led_to_count && out->count + out->led_to < STACK_SPANS_MAX; i++) {
		if (decode(s, i, &span))
			out->spans[out->count + out->led_to++] = span;
	}
	return 0;
}
