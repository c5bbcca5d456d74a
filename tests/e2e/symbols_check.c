/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Holds the pclntab reader against what tests/targets/symtruth printed (its head names the lines)
 * and against "C pc cfa" lines of .debug_frame: symbols_check EXECUTABLE < truth.
 */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>

#include "truth_lines.h"

#define MAX_FRAMES    64
#define MAX_STACK     1024
#define SHOWN	      5
#define FRAME_FIELDS  4 /* of a line F */
#define CALLER_FIELDS 3 /* of a line S */

struct check {
	struct truth_table file;
	struct truth_fields line;
	uint64_t bias;
	bool full_names;
	char nameless[512]; /* the one function that the runtime has no name for */
	uint64_t pcs, inlined, wrong_pcs;
	uint64_t stacks, stack_frames, wrong_stacks;
	uint64_t deltas, wrong_deltas;
	double frames_ms;
};

/* Up to 1.20 the runtime does not tell type arguments: "F[...]"; we do not when it gets too long.
 */
static void shorten(char *to, size_t size, const char *name)
{
	const char *open = strchr(name, '['), *close = strrchr(name, ']');

	if (open && close > open)
		snprintf(to, size, "%.*s[...]%s", (int)(open - name), name, close + 1);
	else
		snprintf(to, size, "%s", name);
}

/* The runtime takes the first name of the table, at offset 0, for none. */
static bool same_name(struct check *c, const char *ours, const char *truth)
{
	char our_short[1024], true_short[1024];

	if (!*truth && *ours && (!*c->nameless || !strcmp(c->nameless, ours))) {
		snprintf(c->nameless, sizeof(c->nameless), "%s", ours);
		return true;
	}
	if (!strcmp(ours, truth))
		return true;
	if (c->full_names && strlen(truth) < sizeof(((struct go_frame *)0)->function))
		return false;
	shorten(our_short, sizeof(our_short), ours);
	shorten(true_short, sizeof(true_short), truth);
	return !strcmp(our_short, true_short);
}

static bool same_place(const struct go_frame *f, char *const *truth)
{
	const char *file = strcmp(truth[1], "?") ? truth[1] : "";

	return !strcmp(f->file, file) && f->line == strtoul(truth[2], NULL, 10);
}

/* The runtime's rule: a wrapper is shown only where it calls one of these. */
static bool elided(const struct go_frame *wrapper, const char *callee)
{
	return wrapper->wrapper && strcmp(callee, "runtime.gopanic") &&
	       strcmp(callee, "runtime.sigpanic") && strcmp(callee, "runtime.panicwrap");
}

static void show_frames(uint64_t pc, const struct go_frame *frames, int n)
{
	fprintf(stderr, "ours at %" PRIx64 ":\n", pc);
	for (int i = 0; i < n; i++)
		fprintf(stderr, "  %s %s:%u start %u%s\n", frames[i].function, frames[i].file,
			frames[i].line, frames[i].start_line, frames[i].wrapper ? " wrapper" : "");
}

static void show_fields(const struct check *c)
{
	fprintf(stderr, "truth:");
	for (size_t i = 0; i < c->line.count; i++)
		fprintf(stderr, " %s", c->line.fields[i]);
	fprintf(stderr, "\n");
}

static void check_pc(struct check *c)
{
	struct go_frame frames[MAX_FRAMES];
	uint64_t pc = truth_hex(&c->line, 0) - c->bias;
	double start = truth_now_ms();
	int n = pclntab_get_frames(c->file.table, pc, frames, MAX_FRAMES);
	bool right = n > 0;
	size_t at = 1;

	c->frames_ms += truth_now_ms() - start;
	c->pcs++;
	c->inlined += n > 1;
	for (int i = 0; right && i < n; i++) {
		/* Up to 1.20 the runtime shows a physical frame in any case. */
		if (n > 1 && (c->full_names || i < n - 1) &&
		    elided(&frames[i], i ? frames[i - 1].function : ""))
			continue;
		right = at + FRAME_FIELDS <= c->line.count &&
			same_name(c, frames[i].function, c->line.fields[at]) &&
			same_place(&frames[i], &c->line.fields[at]) &&
			(!c->full_names ||
			 frames[i].start_line == strtoul(c->line.fields[at + 3], NULL, 10));
		at += FRAME_FIELDS;
	}
	if (right && at == c->line.count)
		return;
	if (c->wrong_pcs++ < SHOWN) {
		show_frames(pc, frames, n);
		show_fields(c);
	}
}

/* Compares the frames of one physical frame; moves `*at` over what they took of the truth. */
static bool match_physical(struct check *c, uint64_t pc, bool leaf, size_t *at, char *callee)
{
	struct go_frame frames[MAX_FRAMES];
	int n = pclntab_get_frames(c->file.table, pc, frames, MAX_FRAMES);
	bool right = n > 0;

	for (int i = 0; right && i < n; i++) {
		bool shown = !elided(&frames[i], callee);

		memcpy(callee, frames[i].function, sizeof(frames[i].function));
		if (!shown)
			continue;
		/* The innermost one called Callers and snapshot on two lines. */
		right = *at + CALLER_FIELDS <= c->line.count &&
			same_name(c, frames[i].function, c->line.fields[*at]) &&
			(leaf || same_place(&frames[i], &c->line.fields[*at]));
		*at += CALLER_FIELDS;
		leaf = false;
	}
	if (!right)
		show_frames(pc, frames, n);
	return right;
}

/*
 * Walks a stack by sp deltas alone. Behind sigpanic the next address is a faulting instruction, not
 * a call; everywhere else it is a return address.
 */
static bool walk(struct check *c, uint64_t sp, uint64_t pc, const uint64_t *words, size_t count)
{
	bool faulted = false, leaf = true;
	char callee[sizeof(((struct go_frame *)0)->function)] = "";
	uint64_t base = sp;
	size_t at = 2;

	for (size_t depth = 0; depth < MAX_STACK; depth++) {
		uint64_t place = pc - c->bias - (faulted ? 0 : 1);
		struct go_function f;
		struct go_frame frame;
		int32_t delta;

		if (pclntab_find_function(c->file.table, place, &f))
			return false;
		/* The first one may be the assembly's ABI wrapper. */
		if (pclntab_get_frames(c->file.table, place, &frame, 1) < 1)
			return false;
		if (!match_physical(c, place, leaf && !frame.wrapper, &at, callee))
			return false;
		leaf = leaf && frame.wrapper;
		c->stack_frames++;
		if (f.flags & GO_TOP_FRAME)
			return at == c->line.count;
		if (pclntab_get_sp_delta(c->file.table, place, &delta) || delta < 0)
			return false;
		sp += (uint32_t)delta;
		if ((sp - base) / 8 >= count)
			return false;
		faulted = !strcmp(callee, "runtime.sigpanic");
		pc = words[(sp - base) / 8];
		sp += 8;
	}
	return false;
}

/* A line S is in hand; its line W follows. */
static int check_stack(struct check *c, char *words_line)
{
	uint64_t sp = truth_hex(&c->line, 0), pc = truth_hex(&c->line, 1), *words;
	size_t count = 0;
	char *at = words_line + 1;

	words = calloc(strlen(words_line) / 2 + 1, sizeof(*words));
	if (!words)
		return -ENOMEM;
	while (*at == '\t')
		words[count++] = strtoull(at + 1, &at, 16);
	c->stacks++;
	if (!walk(c, sp, pc, words, count) && c->wrong_stacks++ < SHOWN)
		show_fields(c);
	free(words);
	return 0;
}

static void check_delta(struct check *c)
{
	uint64_t pc = truth_hex(&c->line, 0);
	int32_t delta = -1,
		truth = (int32_t)strtol(c->line.count > 1 ? c->line.fields[1] : "", NULL, 10) - 8;

	c->deltas++;
	if (!pclntab_get_sp_delta(c->file.table, pc, &delta) && delta == truth)
		return;
	if (c->wrong_deltas++ < SHOWN)
		fprintf(stderr, "delta at %" PRIx64 ": ours %d, truth %d\n", pc, delta, truth);
}

static int check_lines(struct check *c)
{
	char *line = NULL, *words = NULL;
	size_t size = 0, words_size = 0;
	int err = 0;

	while (!err && getline(&line, &size, stdin) > 0) {
		err = truth_split(&c->line, line);
		if (err)
			break;
		if (line[0] == 'B') {
			err = truth_bias(&c->file, &c->line, &c->bias);
		} else if (line[0] == 'N') {
			c->full_names = c->line.count && !strcmp(c->line.fields[0], "full");
		} else if (line[0] == 'F') {
			check_pc(c);
		} else if (line[0] == 'C') {
			check_delta(c);
		} else if (line[0] == 'S') {
			err = getline(&words, &words_size, stdin) > 0 ? check_stack(c, words)
								      : -EINVAL;
		}
	}
	free(words);
	free(line);
	return err;
}

int main(int argc, char **argv)
{
	struct check c = {.bias = 0};
	int err = argc == 2 ? truth_table_open(&c.file, argv[1]) : -EINVAL;

	if (!err)
		err = check_lines(&c);
	if (err)
		fprintf(stderr, "symbols_check: %s\n", strerror(-err));
	printf("pcs %" PRIu64 " (inlined %" PRIu64 ") wrong %" PRIu64
	       ", %.1f us each; stacks %" PRIu64 " (frames %" PRIu64 ") wrong %" PRIu64
	       "; deltas %" PRIu64 " wrong %" PRIu64 "\n",
	       c.pcs, c.inlined, c.wrong_pcs, c.pcs ? c.frames_ms * 1e3 / (double)c.pcs : 0,
	       c.stacks, c.stack_frames, c.wrong_stacks, c.deltas, c.wrong_deltas);
	truth_table_close(&c.file);
	free(c.line.fields);
	return err || c.wrong_pcs || c.wrong_stacks || c.wrong_deltas || !c.pcs || !c.stacks;
}
