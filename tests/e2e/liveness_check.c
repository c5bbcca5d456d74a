/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Holds pclntab's pointer slots, word by word, against what tests/targets/liveness printed (its
 * head names the lines): liveness_check EXECUTABLE < truth.
 */
#include <elf.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>

#include "truth_lines.h"

#define SHOWN		5
#define KNOWS_VARIABLES 1
#define KNOWS_ARGUMENTS 2

/* A frame of a line M or R; `live` are the fields from there on, from the lowest word upwards. */
struct frame {
	uint64_t place;
	int64_t size, first_argument, arguments, known;
	size_t live;
};

struct word {
	uint64_t value;
	enum pointer_slot slot;
};

struct check {
	struct truth_table file;
	struct truth_fields line;
	uint64_t bias;
	struct frame frame;
	struct word *words; /* of the stack in hand */
	size_t word_count, word_capacity;
	uint64_t places, slots, live_slots, unknown_slots, wrong_places;
	uint64_t frames, wrong_frames, variables, wrong_variables;
	double slots_ms;
};

static int64_t end_of_arguments(const struct frame *f)
{
	return f->first_argument - (f->arguments > 0 ? f->arguments : 0);
}

static struct frame read_frame(const struct check *c, size_t size_field)
{
	bool arm64 = elf_image_machine(c->file.image) == EM_AARCH64;

	return (struct frame){
		.place = truth_hex(&c->line, 0) - c->bias,
		.size = truth_number(&c->line, size_field),
		/* An arm64 callee's link register is kept in between. */
		.first_argument = arm64 ? -8 : 0,
		.arguments = truth_number(&c->line, size_field + 1),
		.known = truth_number(&c->line, size_field + 2),
		.live = size_field + 3,
	};
}

/* What the runtime says; live words come in the order in which they are asked for. */
static enum pointer_slot true_slot(const struct check *c, struct frame *f, int64_t below_cfa)
{
	bool variable = below_cfa > 0 && below_cfa <= f->size;
	bool argument = below_cfa <= f->first_argument && below_cfa > end_of_arguments(f);

	if (f->live < c->line.count && truth_number(&c->line, f->live) == below_cfa) {
		f->live++;
		return POINTER_SLOT_LIVE;
	}
	return (variable && f->known & KNOWS_VARIABLES) || (argument && f->known & KNOWS_ARGUMENTS)
		       ? POINTER_SLOT_DEAD
		       : POINTER_SLOT_UNKNOWN;
}

/* From the word below SP to the one behind the arguments. */
static bool check_frame(struct check *c, struct frame f, bool is_return, bool has_map)
{
	int64_t end = end_of_arguments(&f);
	uint64_t pc = f.place + is_return;
	double start = truth_now_ms();
	bool right = true;

	for (int64_t below_cfa = f.size + 8; below_cfa >= end; below_cfa -= 8) {
		enum pointer_slot truth = true_slot(c, &f, below_cfa);
		enum pointer_slot ours =
			pclntab_get_pointer_slot(c->file.table, pc, is_return, below_cfa);

		truth = has_map ? truth : POINTER_SLOT_UNKNOWN;
		c->slots++;
		c->live_slots += truth == POINTER_SLOT_LIVE;
		c->unknown_slots += truth == POINTER_SLOT_UNKNOWN;
		if (ours != truth && right && c->wrong_places + c->wrong_frames < SHOWN)
			fprintf(stderr,
				"%s %" PRIx64 " size %" PRId64 " arguments %" PRId64
				" word %" PRId64 ": ours %d, truth %d\n",
				is_return ? "return to" : "at", pc, f.size, f.arguments, below_cfa,
				ours, truth);
		right = right && ours == truth;
	}
	c->slots_ms += truth_now_ms() - start;
	/* A live word elsewhere would be one that nobody asked for. */
	return right && f.live == c->line.count;
}

/* Without a map of its own a return address has that of the entry, another place has none. */
static void check_place(struct check *c)
{
	struct frame f = read_frame(c, 2);
	bool right = check_frame(c, f, true, true);

	right = check_frame(c, f, false, truth_number(&c->line, 1) >= 0) && right;
	c->places++;
	c->wrong_places += !right;
}

static void check_real_frame(struct check *c)
{
	c->frame = read_frame(c, 2);
	c->frames++;
	c->wrong_frames += !check_frame(c, c->frame, true, true);
}

static int add_words(struct check *c)
{
	for (size_t i = 0; i < c->line.count; i++) {
		if (c->word_count == c->word_capacity) {
			size_t capacity = c->word_capacity ? 2 * c->word_capacity : 1024;
			struct word *words = realloc(c->words, capacity * sizeof(*words));

			if (!words)
				return -ENOMEM;
			c->words = words;
			c->word_capacity = capacity;
		}
		c->words[c->word_count++] = (struct word){
			.value = truth_hex(&c->line, i),
			.slot = pclntab_get_pointer_slot(c->file.table, c->frame.place + 1, true,
							 c->frame.size - (int64_t)i * 8),
		};
	}
	return 0;
}

/* One that is used later is live somewhere; whatever is left of another is seen and is dead. */
static void check_variable(struct check *c)
{
	bool expected = c->line.count == 3 && !strcmp(c->line.fields[0], "live");
	uint64_t value = truth_hex(&c->line, 1);
	size_t seen = 0, live = 0;

	for (size_t i = 0; i < c->word_count; i++) {
		seen += c->words[i].value == value;
		live += c->words[i].value == value && c->words[i].slot == POINTER_SLOT_LIVE;
	}
	c->variables++;
	if (seen && expected == !!live)
		return;
	c->wrong_variables++;
	fprintf(stderr, "%s: expected %s; %zu words have it, %zu of them live\n",
		c->line.count > 2 ? c->line.fields[2] : "?",
		c->line.count ? c->line.fields[0] : "?", seen, live);
}

static int check_lines(struct check *c)
{
	char *line = NULL;
	size_t size = 0;
	int err = 0;

	while (!err && getline(&line, &size, stdin) > 0) {
		err = truth_split(&c->line, line);
		if (err)
			break;
		switch (line[0]) {
		case 'B':
			err = truth_bias(&c->file, &c->line, &c->bias);
			break;
		case 'M':
			check_place(c);
			break;
		case 'G':
			c->word_count = 0;
			break;
		case 'R':
			check_real_frame(c);
			break;
		case 'W':
			err = add_words(c);
			break;
		case 'V':
			check_variable(c);
			break;
		default:
			err = -EINVAL;
		}
	}
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
		fprintf(stderr, "liveness_check: %s\n", strerror(-err));
	printf("places %" PRIu64 " wrong %" PRIu64 "; frames %" PRIu64 " wrong %" PRIu64
	       "; variables %" PRIu64 " wrong %" PRIu64 "; words %" PRIu64 " (live %" PRIu64
	       ", unknown %" PRIu64 ") %.2f us each\n",
	       c.places, c.wrong_places, c.frames, c.wrong_frames, c.variables, c.wrong_variables,
	       c.slots, c.live_slots, c.unknown_slots,
	       c.slots ? c.slots_ms * 1e3 / (double)c.slots : 0);
	truth_table_close(&c.file);
	free(c.line.fields);
	free(c.words);
	return err || c.wrong_places || c.wrong_frames || c.wrong_variables || c.places < 10000 ||
	       !c.frames || !c.variables || !c.live_slots;
}
