/* SPDX-License-Identifier: Apache-2.0 */
/* Reading pprof files: our own say what the .otlp files say, and those of other tools are meant. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/bytes.h"
#include "base/gzip.h"
#include "format/format.h"
#include "pprof_file.h"
#include "profile_rows.h"
#include "sample_profile.h"

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))
#define TRACE		"4bf92f3577b34da6a3ce929d0e0e4736"
#define SPAN		"00f067aa0ba902b7"
/* What pprof_file.h holds, in the words of profile_rows.h. */
#define STACK                                                                                      \
	" 401000 kind 0 in /srv/shop 400000-500000+0  16cc8d04"                                    \
	" | main.step /src/main.go:39 from 38 | main.burn /src/main.go:51 from 47"                 \
	" 401001 kind 0 in /srv/shop 400000-500000+0  16cc8d04"                                    \
	" | main.main /src/main.go:83 from 70\n"
#define HEAD	"from 1764460800000000000 for 2000000000, period 10000000\n"
#define SHOP_IN "7 samples, shop "
#define NO_SPAN "- - '':"

static struct profile *read_bytes(const void *data, size_t size, struct format_pprof_notes *notes)
{
	struct profile *p = NULL;
	char why[256] = "";

	assert_true(format_is_pprof(data, size));
	if (format_pprof_read(data, size, &p, notes, why, sizeof(why)))
		fail_msg("%s", why);
	return p;
}

/* The file is freed. */
static struct profile *read_file(struct pprof_file *f, struct format_pprof_notes *notes)
{
	struct buffer b = pack_pprof(f);
	struct profile *p = read_bytes(b.data, b.size, notes);

	buffer_close(&b);
	return p;
}

static void assert_file_is(struct pprof_file *f, const char *wanted)
{
	struct format_pprof_notes notes;
	struct profile *p = read_file(f, &notes);

	assert_profile_is(p, wanted);
	profile_close(p);
}

/* The sample profile with waits, a span without a trace, and a stack of which nothing is known. */
static struct profile *all_there_is(void)
{
	static const struct frame chan = {"[chan receive]", "", 0, 0},
				  run = {"[runnable]", "", 0, 0};
	struct profile *p = sample_profile();
	struct location *at[AT_LOCATIONS];
	struct location *states[] = {sample_location(31, 0, NULL, FRAME_STATE, 1, &chan),
				     sample_location(32, 0, NULL, FRAME_STATE, 1, &run)};
	struct sample_input unknown = {NULL, 0, false, 1, 0, 6};
	struct span_sight sight = {.span_id = {7}, .name = "job", .name_size = 3, .resource = 1};

	sample_locations(at);
	const struct location *parked[] = {states[0], at[AT_MAIN]},
			      *ready[] = {states[1], at[AT_MAIN]};
	struct sample_input wait = {parked, 2, false, 1, 1, 0};
	struct sample_input job = {parked + 1, 1, false, 1, 0, 9};

	assert_int_equal(profile_add(p, &unknown), 0);
	job.span = spans_add(profile_get_spans(p), &sight);
	assert_int_equal(profile_add(p, &job), 0);
	assert_int_equal(profile_add_wait(p, &wait, PROFILE_WAIT_PARKED, 123456789), 0);
	wait.locations = ready;
	wait.span = 0;
	assert_int_equal(profile_add_wait(p, &wait, PROFILE_WAIT_RUNNABLE, 1000), 0);
	free(states[0]);
	free(states[1]);
	sample_free(at);
	return p;
}

static void our_own_file_reads_back(void **state)
{
	struct profile *p = all_there_is(), *q;
	struct format_pprof_notes notes;
	struct profile_view v;
	struct buffer b;

	buffer_open(&b, 1 << 20);
	assert_int_equal(format_pprof(p, &b), 0);
	q = read_bytes(b.data, b.size, &notes);
	assert_profiles_equal(q, p);
	assert_int_equal(notes.samples, 9);
	assert_int_equal(notes.malformed_ids, 0);
	assert_int_equal(notes.without_trace, 1);
	assert_int_equal(notes.types_left_out, 0);
	profile_get_view(q, &v);
	assert_int_equal(v.dropped, 0);
	assert_int_equal(v.untagged, 0);
	buffer_close(&b);
	profile_close(q);
	profile_close(p);
}

static void it_says_what_the_otlp_file_says(void **state)
{
	static const struct format_otlp_options file = {.span_names = true};
	struct profile *p = sample_profile(), *of_pprof, *of_otlp = NULL;
	struct format_pprof_notes notes;
	struct buffer pprof, otlp, again;
	char why[256];

	buffer_open(&pprof, 1 << 20);
	buffer_open(&otlp, 1 << 20);
	buffer_open(&again, 1 << 20);
	assert_int_equal(format_pprof(p, &pprof), 0);
	assert_int_equal(format_otlp(p, &file, &otlp), 0);
	of_pprof = read_bytes(pprof.data, pprof.size, &notes);
	assert_false(format_is_pprof(otlp.data, otlp.size));
	assert_int_equal(format_otlp_read(otlp.data, otlp.size, &of_otlp, why, sizeof(why)), 0);
	assert_profiles_equal(of_pprof, of_otlp);
	/* And once more through both. */
	profile_close(of_otlp);
	assert_int_equal(format_otlp(of_pprof, &file, &again), 0);
	assert_int_equal(format_otlp_read(again.data, again.size, &of_otlp, why, sizeof(why)), 0);
	assert_profiles_equal(of_otlp, p);
	buffer_close(&again);
	buffer_close(&otlp);
	buffer_close(&pprof);
	profile_close(of_otlp);
	profile_close(of_pprof);
	profile_close(p);
}

static void a_file_of_runtime_pprof(void **state)
{
	struct format_pprof_notes notes;
	struct buffer plain = pack_pprof(new_pprof()), packed;
	struct profile *p = read_bytes(plain.data, plain.size, &notes);

	assert_profile_is(p, HEAD SHOP_IN NO_SPAN STACK);
	profile_close(p);
	/* The same compressed, also in several pieces. */
	buffer_open(&packed, 1 << 20);
	assert_int_equal(gzip_pack(plain.data, 100, &packed), 0);
	assert_int_equal(gzip_pack(plain.data + 100, plain.size - 100, &packed), 0);
	p = read_bytes(packed.data, packed.size, &notes);
	assert_profile_is(p, HEAD SHOP_IN NO_SPAN STACK);
	profile_close(p);
	buffer_close(&packed);
	buffer_close(&plain);
}

static void ids_in_any_order(void **state)
{
	struct pprof_file *f = new_pprof();

	f->locations[0].id = f->location_ids[0] = UINT64_MAX;
	f->locations[1].id = f->location_ids[1] = 1;
	f->mappings[0].id = f->locations[0].mapping_id = f->locations[1].mapping_id = 1000;
	f->functions[0].id = f->lines[0].function_id = 9;
	f->functions[2].id = f->lines[2].function_id = 1;
	assert_file_is(f, HEAD SHOP_IN NO_SPAN STACK);
}

struct label_case {
	const char *labels[8]; /* key, text, … */
	const char *row;
	unsigned malformed, without_trace;
};

static void assert_labels(const struct label_case *c)
{
	struct pprof_file *f = new_pprof();
	struct format_pprof_notes notes;
	struct profile *p;
	char wanted[1024];

	for (size_t i = 0; i < COUNT_OF(c->labels) && c->labels[i]; i += 2)
		pprof_add_label(f, c->labels[i], c->labels[i + 1]);
	p = read_file(f, &notes);
	snprintf(wanted, sizeof(wanted), HEAD SHOP_IN "%s" STACK, c->row);
	assert_profile_is(p, wanted);
	assert_int_equal(notes.malformed_ids, c->malformed);
	assert_int_equal(notes.without_trace, c->without_trace);
	assert_int_equal(notes.samples, 1);
	profile_close(p);
}

#define NO_TRACE "00000000000000000000000000000000"

static void spans_by_label(void **state)
{
	static const struct label_case cases[] = {
		{{"trace_id", TRACE, "span_id", SPAN, "span_name", "GET /"},
		 TRACE " " SPAN " 'GET /' sampled:",
		 0,
		 0},
		{{"span_id", "00F067AA0BA902B7", "trace_id", TRACE},
		 TRACE " " SPAN " '' sampled:",
		 0,
		 0},
		{{"profile_id", SPAN, "trace_id", TRACE}, TRACE " " SPAN " '' sampled:", 0, 0},
		{{"profile_id", "any-text", "span_id", SPAN, "trace_id", TRACE},
		 TRACE " " SPAN " '' sampled:",
		 0,
		 0},
		{{"trace_id", TRACE, "span_id", SPAN, "span_sampled", "false"},
		 TRACE " " SPAN " '':",
		 0,
		 0},
		{{"span_id", SPAN, "span_name", "job"}, NO_TRACE " " SPAN " 'job':", 0, 1},
		{{"span_id", SPAN, "trace_id", NO_TRACE}, NO_TRACE " " SPAN " '':", 0, 1},
		{{"span id", "67667974448284343", "local root span id", "1"},
		 NO_TRACE " " SPAN " '':",
		 0,
		 1},
		{{"span_id", SPAN, "trace_id", "not-a-trace"}, NO_TRACE " " SPAN " '':", 1, 1},
		{{"span_id", SPAN, "trace_id", "4bf92f3577b34da6a3ce929d0e0e473"},
		 NO_TRACE " " SPAN " '':",
		 1,
		 1},
		{{"span_id", "00f067aa0ba902b", "trace_id", TRACE}, NO_SPAN, 1, 0},
		{{"span_id", "00f067aa0ba902b7 ", "trace_id", TRACE}, NO_SPAN, 1, 0},
		{{"span_id", "0000000000000000", "trace_id", TRACE}, NO_SPAN, 1, 0},
		{{"span id", "18446744073709551616"}, NO_SPAN, 1, 0},
		{{"span id", "-1", "trace_id", "x"}, NO_SPAN, 1, 0},
		{{"trace_id", TRACE}, NO_SPAN, 0, 0},
		{{"span_id", "", "trace_id", ""}, NO_SPAN, 0, 0},
		{{"route", SPAN, "span-id", SPAN}, NO_SPAN, 0, 0},
	};

	for (size_t i = 0; i < COUNT_OF(cases); i++)
		assert_labels(&cases[i]);
}

/* Datadog's other tracers write numbers, of 63 bits and a sign. */
static void a_span_id_that_is_a_number(void **state)
{
	struct pprof_file *f = new_pprof();

	pprof_add_label(f, "span id", "")->num = -2;
	assert_file_is(f, HEAD SHOP_IN NO_TRACE " fffffffffffffffe '':" STACK);
	f = new_pprof();
	pprof_add_label(f, "span id", "")->num = 0;
	assert_file_is(f, HEAD SHOP_IN NO_SPAN STACK);
}

static void services(void **state)
{
	struct pprof_file *f = new_pprof();

	pprof_add_label(f, "service_name", "cart");
	assert_file_is(f, HEAD "7 samples, cart " NO_SPAN STACK);
	f = new_pprof();
	pprof_add_label(f, "service.name", "cart");
	pprof_add_label(f, "service", "web");
	assert_file_is(f, HEAD "7 samples, web " NO_SPAN STACK);
	/* Libraries and what the kernel maps are no programs. */
	f = new_pprof();
	f->mapping_list[0] = &f->mappings[1];
	f->mapping_list[1] = &f->mappings[0];
	assert_file_is(f, HEAD SHOP_IN NO_SPAN STACK);
	f = new_pprof();
	f->mappings[1].filename = pprof_text(f, "/lib/libc.so.6");
	f->mapping_list[0] = &f->mappings[1];
	f->mapping_list[1] = &f->mappings[0];
	assert_file_is(f, HEAD SHOP_IN NO_SPAN STACK);
	/* Nothing is made up. */
	f = new_pprof();
	f->profile.n_mapping = 0;
	f->locations[0].mapping_id = f->locations[1].mapping_id = 0;
	assert_file_is(f, HEAD "7 samples,  - - '':"
			       " 401000 kind 0 | main.step /src/main.go:39 from 38"
			       " | main.burn /src/main.go:51 from 47"
			       " 401001 kind 0 | main.main /src/main.go:83 from 70\n");
}

static void kinds_of_code(void **state)
{
	struct pprof_file *f = new_pprof();

	f->functions[0].filename = f->functions[1].filename = pprof_text(f, "/src/c.c");
	f->mappings[1].filename = pprof_text(f, "[kernel.kallsyms]");
	f->locations[1].mapping_id = 2;
	f->functions[2].filename = 0;
	f->lines[2].line = -5;
	f->functions[2].name = 0; /* the system name stands for it */
	f->mappings[0].build_id = pprof_text(f, "abc/def");
	assert_file_is(f, HEAD SHOP_IN NO_SPAN
		       " 401000 kind 1 in /srv/shop 400000-500000+0 abc/def "
		       " | main.step /src/c.c:39 from 38 | main.burn /src/c.c:51 from 47"
		       " 401001 kind 2 in [kernel.kallsyms] 0-0+0   | main.main :0 from 70\n");
}

/* What it costs, in which words; `period` of 0: none is given. */
struct type_case {
	struct {
		const char *type, *unit;
		int64_t value;
	} types[4];
	int64_t period;
	uint64_t count, period_ns, wait_ns;
	unsigned left_out;
};

static void values_in_any_words(void **state)
{
	static const struct type_case cases[] = {
		{{{"cpu", "microseconds", 50000}}, 10000000, 5, 10000000, 0, 0},
		{{{"samples", "count", 5}}, 2000000, 5, 2000000, 0, 0},
		{{{"samples", "count", 4}, {"cpu", "milliseconds", 80}}, 0, 4, 20000000, 0, 0},
		{{{"cpu", "seconds", 2}}, 0, 2000000000, 1, 0, 0},
		{{{"cpu", "nanoseconds", 24000000}}, 10000000, 2, 10000000, 0, 0},
		{{{"cpu", "nanoseconds", 25000000}}, 10000000, 3, 10000000, 0, 0},
		{{{"alloc_space", "bytes", 9}, {"cpu", "nanoseconds", 50000000}},
		 10000000,
		 5,
		 10000000,
		 0,
		 1},
		{{{"off_cpu", "milliseconds", 3}}, 0, 0, 1, 3000000, 0},
		{{{"cpu", "nanoseconds", 20000000}, {"off_cpu", "nanoseconds", 77}},
		 10000000,
		 2,
		 10000000,
		 77,
		 0},
	};

	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		const struct type_case *c = &cases[i];
		struct pprof_file *f = new_untyped_pprof();
		struct format_pprof_notes notes;
		struct profile_view v;
		struct profile *p;

		for (size_t k = 0; k < COUNT_OF(c->types) && c->types[k].type; k++)
			pprof_add_type(f, c->types[k].type, c->types[k].unit, c->types[k].value);
		pprof_set_period(f, "cpu", "nanoseconds", c->period);
		p = read_file(f, &notes);
		profile_get_view(p, &v);
		assert_int_equal(v.period_ns, c->period_ns);
		assert_int_equal(v.sample_count, c->count ? 2 : 1);
		if (c->count)
			assert_int_equal(v.samples[1].count, c->count);
		assert_int_equal(v.wait_count, c->wait_ns ? 2 : 1);
		if (c->wait_ns)
			assert_int_equal(v.waits[1].ns, c->wait_ns);
		assert_int_equal(notes.types_left_out, c->left_out);
		profile_close(p);
	}
}

static void an_idle_program(void **state)
{
	struct pprof_file *f = new_pprof();

	f->profile.n_sample = 0;
	assert_file_is(f, HEAD);
	/* A duration without a beginning cannot be joined to anything. */
	f = new_pprof();
	f->profile.n_sample = 0;
	f->profile.time_nanos = -1;
	assert_file_is(f, "from 0 for 0, period 10000000\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(our_own_file_reads_back),
		cmocka_unit_test(it_says_what_the_otlp_file_says),
		cmocka_unit_test(a_file_of_runtime_pprof),
		cmocka_unit_test(ids_in_any_order),
		cmocka_unit_test(spans_by_label),
		cmocka_unit_test(a_span_id_that_is_a_number),
		cmocka_unit_test(services),
		cmocka_unit_test(kinds_of_code),
		cmocka_unit_test(values_in_any_words),
		cmocka_unit_test(an_idle_program),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
