/* SPDX-License-Identifier: Apache-2.0 */
/* Composes the report's sentences in a small buffer each, then wraps them. */
#include "report/terminal_head.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/bytes.h"
#include "base/string_table.h"
#include "spans/spans.h"

#define SENTENCE_MAX   8192
#define SERVICES_NAMED 4
#define SERVICES_KNOWN 256
#define DOT	       " \xc2\xb7 "

static const char *plural(uint64_t count)
{
	return count == 1 ? "" : "s";
}

/* A sentence under way: a buffer that ends in NUL when it is painted. */
static void paint_sentence(const struct paint *p, enum paint_style style, struct buffer *b)
{
	buffer_add(b, "", 1);
	if (!b->failed)
		paint_wrapped(p, style, (const char *)b->data, 0);
	buffer_close(b);
}

static size_t add_service(uint32_t *list, size_t count, size_t max, uint32_t service)
{
	size_t k = 0;

	while (k < count && list[k] != service)
		k++;
	if (k == count && count < max)
		list[count++] = service;
	return count;
}

/* Distinct services among the chosen samples and waits, in the order they come. */
static size_t list_services(const struct report_view *v, uint32_t *out, size_t max)
{
	size_t i, count = 0;

	for (i = 0; i < v->chosen_count; i++)
		count = add_service(out, count, max,
				    v->services[v->profile.samples[v->chosen[i]].resource]);
	for (i = 0; i < v->sum_count; i++)
		count = add_service(out, count, max, v->sums[i].service);
	return count;
}

static void add_services(struct buffer *b, const struct report_view *v)
{
	uint32_t services[SERVICES_KNOWN];
	size_t i, count = list_services(v, services, SERVICES_KNOWN);
	const char *name;

	buffer_printf(b, "%zu%s service%s (", count, count == SERVICES_KNOWN ? "+" : "",
		      plural(count));
	for (i = 0; i < count && i < SERVICES_NAMED; i++) {
		name = report_view_string(v, services[i]);
		buffer_printf(b, "%s%s", i ? ", " : "", *name ? name : "unknown");
	}
	buffer_printf(b, "%s)", count > SERVICES_NAMED ? ", \xe2\x80\xa6" : "");
}

/* " · 54.2 s off CPU": as much as is known. */
static void add_off_cpu(struct buffer *b, const struct report_view *v)
{
	char text[PAINT_NUMBER_MAX];

	if (v->off_cpu_ns)
		buffer_printf(b, DOT "%s off CPU", paint_seconds(v->off_cpu_ns, text));
}

/* "30.0 s profiled · 2 services (shop, cart) · 2,970 samples · 29.7 s CPU · 92 % inside 148 spans"
 */
static void paint_totals(const struct paint *p, const struct report_view *v)
{
	char text[PAINT_NUMBER_MAX];
	struct buffer b;

	buffer_open(&b, SENTENCE_MAX);
	if (v->profile.covered_ns)
		buffer_printf(&b, "%s profiled" DOT, paint_seconds(v->profile.covered_ns, text));
	if (!v->filtered) {
		add_services(&b, v);
		buffer_printf(&b, DOT);
	}
	buffer_printf(&b, "%s sample%s" DOT, paint_number(v->all_samples, text),
		      plural(v->all_samples));
	buffer_printf(&b, "%s CPU", paint_seconds(report_view_ns(v, v->all_samples), text));
	if (!v->filtered) {
		buffer_printf(&b, DOT "%s",
			      paint_share(v->chosen_samples - v->outside_samples, v->chosen_samples,
					  text));
		buffer_printf(&b, " inside %s span%s", paint_number(v->on_cpu_count, text),
			      plural(v->on_cpu_count));
		add_off_cpu(&b, v);
		if (v->off_cpu_count)
			buffer_printf(&b, " of %s span%s", paint_number(v->off_cpu_count, text),
				      plural(v->off_cpu_count));
	}
	paint_sentence(p, PAINT_BOLD, &b);
}

/* The filter comes from the command line: it may hold anything. */
static void add_wanted(struct buffer *b, const char *what, const char *value, bool quotes)
{
	char cleaned[256];

	if (!value)
		return;
	string_clean(cleaned, sizeof(cleaned), value, strlen(value));
	buffer_printf(b, quotes ? " %s \"%s\"" : " %s %s", what, cleaned);
}

static void add_filter(struct buffer *b, const struct report_options *o)
{
	add_wanted(b, "trace", o->trace_id, false);
	add_wanted(b, "span", o->span_id, false);
	add_wanted(b, "span name", o->span_name, true);
	add_wanted(b, "service", o->service, true);
}

static void paint_filter(const struct paint *p, const struct report_view *v,
			 const struct report_options *options)
{
	char text[PAINT_NUMBER_MAX];
	struct buffer b;

	buffer_open(&b, SENTENCE_MAX);
	buffer_printf(&b, "Only");
	add_filter(&b, options);
	buffer_printf(&b, ": %s sample%s", paint_number(v->chosen_samples, text),
		      plural(v->chosen_samples));
	buffer_printf(&b, DOT "%s ms CPU", paint_ms(report_view_ns(v, v->chosen_samples), text));
	buffer_printf(&b, DOT "%s of all", paint_share(v->chosen_samples, v->all_samples, text));
	buffer_printf(&b, DOT "%s span%s", paint_number(v->sum_count, text), plural(v->sum_count));
	add_off_cpu(&b, v);
	paint_sentence(p, PAINT_PLAIN, &b);
}

static void paint_no_match(const struct paint *p, const struct report_view *v,
			   const struct report_options *options)
{
	char text[PAINT_NUMBER_MAX];
	struct buffer b;

	buffer_open(&b, SENTENCE_MAX);
	buffer_printf(&b, "None of the %s samples matches", paint_number(v->all_samples, text));
	add_filter(&b, options);
	if (options->span_name || options->service)
		buffer_printf(&b, ". Names are compared whole");
	buffer_printf(&b, v->has_waits ? ". Spans are seen only where they were on a CPU at a "
					 "sample, or off it at a look."
				       : ". Samples exist only for spans that were on a CPU when "
					 "one was taken.");
	paint_sentence(p, PAINT_PLAIN, &b);
}

void terminal_head_paint(const struct paint *p, const struct report_view *v,
			 const struct report_options *options)
{
	char text[PAINT_NUMBER_MAX];
	struct buffer b;

	if (!v->all_samples && !v->sum_count) {
		buffer_open(&b, SENTENCE_MAX);
		buffer_printf(&b, "No samples: nothing that was profiled used the CPU");
		if (v->profile.covered_ns)
			buffer_printf(&b, " in %s", paint_seconds(v->profile.covered_ns, text));
		buffer_printf(&b, ".");
		paint_sentence(p, PAINT_PLAIN, &b);
		return;
	}
	paint_totals(p, v);
	if (!v->chosen_samples && !v->sum_count)
		paint_no_match(p, v, options);
	else if (v->filtered)
		paint_filter(p, v, options);
	if (v->chosen_samples && !v->sum_count)
		paint_wrapped(p, PAINT_PLAIN,
			      "No sample belongs to a span: none that could be seen was open "
			      "where the CPU time went.",
			      0);
}

static void paint_note(const struct paint *p, uint64_t count, const char *what)
{
	char text[PAINT_NUMBER_MAX];
	struct buffer b;

	if (!count)
		return;
	buffer_open(&b, SENTENCE_MAX);
	buffer_printf(&b, "Note: %s: %s.", what, paint_number(count, text));
	paint_sentence(p, PAINT_PLAIN, &b);
}

static uint64_t count_truncated(const struct report_view *v)
{
	const struct profile_sample *sample;
	uint64_t count = 0;
	size_t i;

	for (i = 0; i < v->chosen_count; i++) {
		sample = &v->profile.samples[v->chosen[i]];
		if (v->profile.stacks[sample->stack].truncated)
			count += sample->count;
	}
	return count;
}

void terminal_notes_paint(const struct paint *p, const struct report_view *v)
{
	uint64_t truncated = count_truncated(v);

	if (!truncated && !v->profile.dropped && !v->profile.untagged && !v->profile.names_lost &&
	    !spans_ungrouped(v->spans))
		return;
	paint_end_line(p);
	paint_note(p, v->profile.dropped,
		   "samples without room in the profile, in none of these figures");
	paint_note(p, truncated, "samples whose stack lacks frames");
	paint_note(p, v->profile.untagged,
		   "samples of spans for which there was no room, counted as outside");
	paint_note(p, spans_ungrouped(v->spans),
		   "ended spans missing among how long spans took: too many names");
	/* Counted each time it is met anew, so not the number of different names. */
	paint_note(p, v->profile.names_lost, "times that a name found no room and is missing");
}
