/* SPDX-License-Identifier: Apache-2.0 */
/* What goroutines waited: through the profile, its files and the report, beside CPU time. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/bytes.h"
#include "base/string_table.h"
#include "encoded_pprof.h"
#include "format/format.h"
#include "profile_total.h"
#include "report/report.h"
#include "report/select.h"
#include "sample_profile.h"

#define MS	 1000000ull
#define LOOKS_NS (11 * MS)

/* Of the shop's sample profile: the spans by their handles. */
enum { HEAVY = 1, SLOW = 2, UNSAMPLED = 3 };

static struct location *state_location(uint64_t id, const char *name)
{
	const struct frame frame = {name, "", 0, 0};

	return sample_location(id, 0, NULL, FRAME_STATE, 1, &frame);
}

static void add(struct profile *p, const char *state, uint32_t span, enum profile_wait_kind kind,
		uint64_t ns)
{
	struct location *at[AT_LOCATIONS];
	struct location *leaf = state_location(100 + kind, state);

	sample_locations(at);
	const struct location *stack[] = {leaf, at[AT_REPORT], at[AT_MAIN]};
	const struct sample_input sample = {stack, 3, false, 1, span, 0};

	assert_int_equal(profile_add_wait(p, &sample, kind, ns), 0);
	sample_free(at);
	free(leaf);
}

/* 900 ms of span 1 in two ways, 30 ms of span 2, 7 ms of one that was not sampled. */
static struct profile *with_waits(void)
{
	struct profile *p = sample_profile();

	profile_set_look_interval(p, LOOKS_NS);
	add(p, "[chan receive]", HEAVY, PROFILE_WAIT_PARKED, 500 * MS);
	add(p, "[chan receive]", HEAVY, PROFILE_WAIT_PARKED, 100 * MS);
	add(p, "[runnable]", HEAVY, PROFILE_WAIT_RUNNABLE, 300 * MS);
	add(p, "[syscall: pipe_read]", SLOW, PROFILE_WAIT_SYSCALL, 30 * MS);
	add(p, "[not on cpu]", UNSAMPLED, PROFILE_WAIT_NO_CPU, 7 * MS);
	return p;
}

static uint64_t wait_ns(const struct profile *p, uint8_t span, enum profile_wait_kind kind)
{
	struct profile_view v;
	uint64_t ns = 0;

	profile_get_view(p, &v);
	for (size_t i = 1; i < v.wait_count; i++) {
		const struct span *s = spans_get(profile_get_spans(p), v.waits[i].span);

		ns += s && s->span_id[0] == span && v.waits[i].kind == kind ? v.waits[i].ns : 0;
	}
	return ns;
}

static void assert_waits(const struct profile *p, unsigned times)
{
	struct profile_view v;

	profile_get_view(p, &v);
	assert_int_equal(v.wait_count, 5);
	assert_int_equal(v.waits_dropped_ns, 0);
	assert_int_equal(wait_ns(p, 0xb1, PROFILE_WAIT_PARKED), times * 600 * MS);
	assert_int_equal(wait_ns(p, 0xb1, PROFILE_WAIT_RUNNABLE), times * 300 * MS);
	assert_int_equal(wait_ns(p, 0xb2, PROFILE_WAIT_SYSCALL), times * 30 * MS);
	assert_int_equal(wait_ns(p, 0xb3, PROFILE_WAIT_NO_CPU), times * 7 * MS);
	/* CPU time knows nothing of it. */
	assert_int_equal(total(p), times * 82);
}

static void added_and_merged(void **state)
{
	struct profile_config small = {SAMPLE_PERIOD_NS, 1, 1 << 16, 10};
	struct profile *p = with_waits(), *other = with_waits(), *full = NULL;
	struct profile_view v;

	assert_waits(p, 1);
	assert_int_equal(profile_merge(p, other), 0);
	assert_waits(p, 2);
	/* Where there is no room, it is counted. */
	assert_int_equal(profile_open(&small, SAMPLE_START_NS, &full), 0);
	profile_set_look_interval(other, 2 * LOOKS_NS);
	assert_int_equal(profile_merge(p, other), 0);
	profile_get_view(p, &v);
	assert_int_equal(v.look_interval_ns, 2 * LOOKS_NS);
	assert_int_equal(profile_merge(full, other), 0);
	profile_get_view(full, &v);
	assert_true(v.waits_dropped_ns >= 337 * MS);
	profile_close(full);
	profile_close(other);
	profile_close(p);
}

static void words(void **state)
{
	assert_string_equal(profile_wait_word(PROFILE_WAIT_NO_CPU), "not on cpu");
	for (int kind = 0; kind < PROFILE_WAIT_KINDS; kind++) {
		char name[64];

		snprintf(name, sizeof(name), "[%s]", profile_wait_word(kind));
		assert_int_equal(profile_wait_kind_of(name), kind);
	}
	assert_int_equal(profile_wait_kind_of("[syscall: ep_poll]"), PROFILE_WAIT_SYSCALL);
	assert_int_equal(profile_wait_kind_of("[chan receive]"), PROFILE_WAIT_PARKED);
	assert_int_equal(profile_wait_kind_of("[runnable later]"), PROFILE_WAIT_PARKED);
	assert_int_equal(profile_wait_kind_of("runnable"), PROFILE_WAIT_PARKED);
	assert_int_equal(profile_wait_kind_of(""), PROFILE_WAIT_PARKED);
}

static void in_pprof(void **state)
{
	struct profile *p = with_waits();
	Pprof__Profile *m = encode(p);
	int64_t sums[3] = {0};

	assert_int_equal(m->n_sample_type, 3);
	assert_string_equal(m->string_table[m->sample_type[2]->type], "off_cpu");
	assert_string_equal(m->string_table[m->sample_type[2]->unit], "nanoseconds");
	assert_string_equal(m->string_table[m->default_sample_type], "cpu");
	assert_int_equal(m->n_sample, 5 + 4);
	for (size_t i = 0; i < m->n_sample; i++) {
		assert_int_equal(m->sample[i]->n_value, 3);
		for (size_t k = 0; k < 3; k++)
			sums[k] += m->sample[i]->value[k];
		/* Each is of one kind. */
		assert_true(!m->sample[i]->value[0] == !m->sample[i]->value[1]);
		assert_true(!m->sample[i]->value[0] != !m->sample[i]->value[2]);
	}
	assert_int_equal(sums[0], 82);
	assert_int_equal(sums[1], 82 * (int64_t)SAMPLE_PERIOD_NS);
	assert_int_equal(sums[2], 937 * MS);
	pprof__profile__free_unpacked(m, NULL);
	profile_close(p);
	/* Without anything that waited there is no such type. */
	p = sample_profile();
	m = encode(p);
	assert_int_equal(m->n_sample_type, 2);
	pprof__profile__free_unpacked(m, NULL);
	profile_close(p);
}

static void read_back_from_otlp(void **state)
{
	const struct format_otlp_options file = {.span_names = true};
	struct profile *p = with_waits(), *again = NULL;
	char why[128] = "";
	struct profile_view v;
	struct buffer out;
	size_t states = 0;

	buffer_open(&out, 1 << 20);
	assert_int_equal(format_otlp(p, &file, &out), 0);
	assert_int_equal(format_otlp_read(out.data, out.size, &again, why, sizeof(why)), 0);
	assert_waits(again, 1);
	profile_get_view(again, &v);
	assert_int_equal(v.period_ns, SAMPLE_PERIOD_NS);
	assert_int_equal(v.look_interval_ns, LOOKS_NS);
	for (size_t i = 1; i < v.location_count; i++)
		states += v.locations[i].kind == FRAME_STATE;
	assert_int_equal(states, 4);
	/* A span that has only waited has no samples. */
	for (uint32_t i = 1; i <= spans_count(profile_get_spans(again)); i++) {
		const struct span *s = spans_get(profile_get_spans(again), i);

		if (s->trace_id[0] == 0xa1 && s->span_id[0] == 0xb1)
			assert_int_equal(s->samples, 50);
	}
	buffer_close(&out);
	profile_close(again);
	profile_close(p);
}

static int count_part(void *context, struct buffer *request, uint64_t samples)
{
	*(uint64_t *)context += samples;
	return 0;
}

/* On the wire: what was not sampled has no link; the sum of samples is that of CPU samples. */
static void sent(void **state)
{
	const struct format_otlp_options wire = {.agent_version = "0.1"};
	struct profile *p = with_waits(), *again = NULL;
	char why[128] = "";
	struct profile_view v;
	uint64_t samples = 0;
	struct buffer out;

	assert_int_equal(format_otlp_each(p, &wire, 1 << 20, count_part, &samples), 0);
	assert_int_equal(samples, 82);
	buffer_open(&out, 1 << 20);
	assert_int_equal(format_otlp(p, &wire, &out), 0);
	assert_int_equal(format_otlp_read(out.data, out.size, &again, why, sizeof(why)), 0);
	assert_int_equal(wait_ns(again, 0xb1, PROFILE_WAIT_PARKED), 600 * MS);
	profile_get_view(again, &v);
	assert_int_equal(v.look_interval_ns, 0); /* off-CPU time has no period there */
	assert_int_equal(wait_ns(again, 0xb3, PROFILE_WAIT_NO_CPU), 0);
	buffer_close(&out);
	profile_close(again);
	profile_close(p);
}

static char *report(const struct profile *p, const struct report_options *options)
{
	struct buffer out;
	char *text;

	buffer_open(&out, 1 << 20);
	assert_int_equal(report_terminal(p, options, &out), 0);
	text = strndup((const char *)out.data, out.size);
	buffer_close(&out);
	return text;
}

static void assert_has(const char *text, const char *part, bool has)
{
	if (!strstr(text, part) == has)
		fail_msg("%s: %s\nin:\n%s", has ? "missing" : "unexpected", part, text);
}

static void reported(void **state)
{
	const struct report_options wide = {.columns = 120}, narrow = {.columns = 50},
				    one = {.columns = 120, .span_id = "b2b2b2b2b2b2b2b2"};
	struct profile *p = with_waits(), *none = sample_profile();
	char *text = report(p, &wide);

	assert_has(text, "\nBy span name\n", true);
	assert_has(text,
		   "    0.51 s CPU + 0.30 s runnable + 0.60 s waiting (chan receive in "
		   "main.(*server).report report;v2.go:7)\n",
		   true);
	assert_has(text, "\nGET /cpu-heavy ", true);
	assert_has(text, "  syscall: pipe_read in main.(*server).report", true);
	free(text);
	text = report(p, &narrow);
	assert_has(text, "\nBy span name\n", true);
	assert_has(text, "chan receive in main.(*server).report", true);
	free(text);
	/* Of that span alone. */
	text = report(p, &one);
	assert_has(text, "30 ms in system calls (syscall: pipe_read in main.", true);
	assert_has(text, "chan receive", false);
	free(text);
	text = report(none, &wide);
	assert_has(text, "\nCPU by span name\n", false);
	assert_has(text, "runnable", false);
	free(text);
	profile_close(none);
	profile_close(p);
}

static void selected(void **state)
{
	const struct report_options one = {.span_id = "b1b1b1b1b1b1b1b1", .service = "shop"};
	struct profile *p = with_waits(), *part = NULL;

	assert_int_equal(report_select(p, &one, &part), 0);
	assert_int_equal(wait_ns(part, 0xb1, PROFILE_WAIT_PARKED), 600 * MS);
	assert_int_equal(wait_ns(part, 0xb1, PROFILE_WAIT_RUNNABLE), 300 * MS);
	assert_int_equal(wait_ns(part, 0xb2, PROFILE_WAIT_SYSCALL), 0);
	assert_int_equal(total(part), 50);
	profile_close(part);
	profile_close(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(added_and_merged),
		cmocka_unit_test(words),
		cmocka_unit_test(in_pprof),
		cmocka_unit_test(read_back_from_otlp),
		cmocka_unit_test(sent),
		cmocka_unit_test(reported),
		cmocka_unit_test(selected),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
