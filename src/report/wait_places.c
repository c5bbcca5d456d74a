/* SPDX-License-Identifier: Apache-2.0 */
/* A place is a state, which the leaf of the stack names, at a line of the program's own code. */
#include "report/wait_places.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/names.h"
#include "report/paint.h"

struct wait_place wait_places_get(const struct report_view *v, uint32_t row)
{
	const struct profile_wait *wait = &v->profile.waits[row];
	struct stack_frame leaf = {0};

	stack_frames(v, wait->stack, &leaf, 1);
	return (struct wait_place){
		.kind = wait->kind,
		.state = leaf.kind == FRAME_STATE ? leaf.function : 0,
		.at = stack_blame_own(v, wait->stack),
		.ns = wait->ns,
	};
}

static int by_place(const void *left, const void *right)
{
	const struct wait_place *a = left, *b = right;

	if (a->kind != b->kind)
		return a->kind < b->kind ? -1 : 1;
	if (a->state != b->state)
		return a->state < b->state ? -1 : 1;
	if (a->at.function != b->at.function)
		return a->at.function < b->at.function ? -1 : 1;
	return a->at.line < b->at.line ? -1 : a->at.line > b->at.line;
}

static int by_time(const void *left, const void *right)
{
	const struct wait_place *a = left, *b = right;

	if (a->ns != b->ns)
		return a->ns > b->ns ? -1 : 1;
	return by_place(left, right);
}

size_t wait_places_unite(struct wait_place *places, size_t count)
{
	size_t united = 0;

	qsort(places, count, sizeof(*places), by_place);
	for (size_t i = 0; i < count; i++) {
		if (united && !by_place(&places[united - 1], &places[i]))
			places[united - 1].ns += places[i].ns;
		else
			places[united++] = places[i];
	}
	qsort(places, united, sizeof(*places), by_time);
	return united;
}

struct wait_place wait_places_largest(struct wait_place *places, size_t count)
{
	return wait_places_unite(places, count) ? places[0] : (struct wait_place){0};
}

int wait_places_find(const struct report_view *v, const uint32_t *rows, size_t row_count,
		     unsigned kinds, struct wait_place *out)
{
	struct wait_place *places = calloc(row_count + 1, sizeof(*places));
	size_t count = 0;

	if (!places)
		return -ENOMEM;
	for (size_t i = 0; i < row_count; i++)
		if (kinds >> v->profile.waits[rows[i]].kind & 1)
			places[count++] = wait_places_get(v, rows[i]);
	*out = wait_places_largest(places, count);
	free(places);
	return 0;
}

void wait_places_text(const struct report_view *v, const struct wait_place *place, size_t columns,
		      char *to, size_t size)
{
	const char *state = report_view_string(v, v->profile.functions[place->state].name);
	const char *word = *state ? state : profile_wait_word(place->kind);
	size_t length = strlen(word);
	int used;

	if (length > 2 && word[0] == '[' && word[length - 1] == ']') {
		word++;
		length -= 2;
	}
	used = snprintf(to, size, "%.*s", (int)length, word);
	if (!place->at.function || used < 0 || (size_t)used >= size)
		return;
	used += snprintf(to + used, size - (size_t)used, " in %s",
			 names_short(stack_frame_name(v, &place->at)));
	if (!place->at.line || (size_t)used >= size)
		return;
	snprintf(to + used, size - (size_t)used, " %s:%" PRIu32,
		 names_file_tail(stack_frame_file(v, &place->at), 1), place->at.line);
	if (paint_width(to) > columns)
		to[used] = '\0';
}
