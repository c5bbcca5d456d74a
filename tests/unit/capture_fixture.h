/* SPDX-License-Identifier: Apache-2.0 */
/* An open capture on this kernel, and the records that it has handed over. Needs root. */
#ifndef UNIT_CAPTURE_FIXTURE_H
#define UNIT_CAPTURE_FIXTURE_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "capture/capture.h"

#define SEEN_MAX   512
#define WORDS_MAX  64
#define PATIENCE_S 30 /* on a loaded machine */

struct seen_sample {
	struct sample_record sample;
	uint64_t words[WORDS_MAX];
};

/* The first one, with all its words. */
struct whole_sample {
	struct sample_record sample;
	uint64_t words[RECORD_WORDS_MAX];
};

struct fixture {
	struct capture *capture;
	struct whole_sample first;
	size_t sample_count, exec_count, exit_count, first_span_count,
		ended_count; /* all, also those not kept */
	struct seen_sample samples[SEEN_MAX];
	struct span_record ended[SEEN_MAX];
	struct process_record execs[SEEN_MAX], exits[SEEN_MAX], first_spans[SEEN_MAX];
};

static inline void see_sample(void *context, const struct sample_record *sample)
{
	struct fixture *f = context;
	size_t size = sample->header.size_bytes;

	assert_int_equal(sample->header.type, RECORD_SAMPLE);
	assert_true(size >= sizeof(*sample) && size <= sizeof(f->first));
	if (!f->sample_count)
		memcpy(&f->first, sample, size);
	if (f->sample_count < SEEN_MAX)
		memcpy(&f->samples[f->sample_count], sample,
		       size < sizeof(*f->samples) ? size : sizeof(*f->samples));
	f->sample_count++;
}

static inline void keep(struct process_record *records, size_t *count,
			const struct process_record *record)
{
	assert_int_equal(record->header.size_bytes, sizeof(*record));
	if (*count < SEEN_MAX)
		records[*count] = *record;
	++*count;
}

static inline void see_exec(void *context, const struct process_record *record)
{
	struct fixture *f = context;

	assert_int_equal(record->header.type, RECORD_EXEC);
	keep(f->execs, &f->exec_count, record);
}

static inline void see_exit(void *context, const struct process_record *record)
{
	struct fixture *f = context;

	assert_int_equal(record->header.type, RECORD_EXIT);
	keep(f->exits, &f->exit_count, record);
}

static inline void see_first_span(void *context, const struct process_record *record)
{
	struct fixture *f = context;

	keep(f->first_spans, &f->first_span_count, record);
}

static inline void see_ended(void *context, const struct span_record *record)
{
	struct fixture *f = context;

	assert_int_equal(record->header.type, RECORD_ENDED_SPAN);
	assert_int_equal(record->header.size_bytes, sizeof(*record));
	if (f->ended_count < SEEN_MAX)
		f->ended[f->ended_count] = *record;
	f->ended_count++;
}

/* In a child: a test that fails leaves nobody behind who burns CPU for ever. */
static inline void die_with_parent(void)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() == 1)
		_exit(1);
}

static inline struct capture_config usual_config(void)
{
	return (struct capture_config){
		.frequency_hz = 199,
		.kernel_stacks = true,
		.ring_bytes = 1 << 20,
		.goroutines_max = 1024,
	};
}

static inline int open_capture(struct fixture *f, const struct capture_config *config, char *why,
			       size_t why_size)
{
	struct capture_handler handler = {
		.context = f,
		.on_sample = see_sample,
		.on_exec = see_exec,
		.on_exit = see_exit,
		.on_first_span = see_first_span,
		.on_ended_span = see_ended,
	};

	return capture_open(config, &handler, &f->capture, why, why_size);
}

static inline void begin_capture(struct fixture *f, const struct capture_config *config)
{
	char why[512] = "";

	memset(f, 0, sizeof(*f));
	assert_int_equal(open_capture(f, config, why, sizeof(why)), 0);
	assert_string_equal(why, "");
	assert_int_equal(capture_start(f->capture, why, sizeof(why)), 0);
	assert_string_equal(why, "");
}

static inline void poll_capture(struct fixture *f)
{
	assert_true(capture_poll(f->capture) >= 0);
	nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
}

/* Polls until `*count` has reached a number. */
static inline void wait_for(struct fixture *f, const size_t *count, size_t number)
{
	uint64_t limit_ns = clock_monotonic_ns() + PATIENCE_S * 1000000000ull;

	while (*count < number && clock_monotonic_ns() < limit_ns)
		poll_capture(f);
	assert_true(*count >= number);
}

static inline void forget_records(struct fixture *f)
{
	struct capture *capture = f->capture;

	while (capture_poll(capture) > 0)
		continue;
	memset(f, 0, sizeof(*f));
	f->capture = capture;
}

/* The words of a sample behind those of its chains and of the kernel. */
static inline const uint64_t *stack_words(const struct seen_sample *s)
{
	return s->words + s->sample.chain_count + s->sample.curg_count + s->sample.kernel_count;
}

#endif
