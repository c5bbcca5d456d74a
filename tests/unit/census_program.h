/* SPDX-License-Identifier: Apache-2.0 */
/* Builds and runs census_program, whose goroutines tell of their spans and then stand still. */
#ifndef UNIT_CENSUS_PROGRAM_H
#define UNIT_CENSUS_PROGRAM_H

#include "parked_program.h"

#define CENSUS_GOROUTINES 16 /* room for them */
#define CENSUS_SPANS	  16 /* kept of one goroutine */

/* What a goroutine told: its open spans, outermost first. */
struct census_truth {
	char name[16];
	uint64_t goid;
	size_t count, led_to; /* its own, then those to which but a context leads */
	uint8_t ids[CENSUS_SPANS][8];
};

struct census_program {
	struct parked *parked;
	size_t count;
	struct census_truth truth[CENSUS_GOROUTINES];
};

/* NAME GOROUTINE SPAN…; "+" stands before the ID of a span that only a context leads to. */
static inline void census_read_line(FILE *file, struct census_truth *t)
{
	char line[512], *rest, *word;

	assert_non_null(fgets(line, sizeof(line), file));
	snprintf(t->name, sizeof(t->name), "%s", strtok_r(line, " \n", &rest));
	t->goid = strtoull(strtok_r(NULL, " \n", &rest), NULL, 10);
	while ((word = strtok_r(NULL, " \n", &rest))) {
		uint64_t id = __builtin_bswap64(strtoull(word + (*word == '+'), NULL, 16));

		assert_true(t->count + t->led_to < CENSUS_SPANS);
		memcpy(t->ids[t->count + t->led_to], &id, sizeof(id));
		if (*word == '+')
			t->led_to++;
		else
			t->count++;
	}
}

static inline bool census_all_stand_still(const struct census_program *f)
{
	const struct goroutine_state *main = parked_state(f->parked, 1);

	for (size_t i = 0; i < f->count; i++) {
		const struct goroutine_state *g = parked_state(f->parked, f->truth[i].goid);

		if (!g || g->status != GOROUTINE_WAITING)
			return false;
	}
	return main && main->status == GOROUTINE_SYSCALL;
}

static inline const struct census_truth *census_truth(const struct census_program *f,
						      const char *name)
{
	for (size_t i = 0; i < f->count; i++)
		if (!strcmp(f->truth[i].name, name))
			return &f->truth[i];
	fail_msg("no goroutine %s", name);
	return NULL;
}

/* Runs it until so many goroutines have told of themselves and stand still. */
static inline struct census_program *census_run(char *argument, size_t goroutines)
{
	uint64_t limit_ns = clock_monotonic_ns() + PARKED_PATIENCE_S * 1000000000ull;
	struct census_program *f = calloc(1, sizeof(*f));
	struct parked *p = calloc(1, sizeof(*p));
	FILE *file;

	f->parked = p;
	file = fdopen(parked_launch(p, "tests/unit/census_program", argument), "r");
	while (f->count < goroutines)
		census_read_line(file, &f->truth[f->count++]);
	fclose(file);
	assert_int_equal(process_open(p->pid, &p->process), 0);
	for (parked_look(p); !census_all_stand_still(f); parked_look(p)) {
		assert_true(clock_monotonic_ns() < limit_ns);
		nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL);
	}
	return f;
}

static inline void census_program_end(struct census_program *f)
{
	parked_end(f->parked);
	free(f);
}

#endif
