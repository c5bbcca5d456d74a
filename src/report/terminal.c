/* SPDX-License-Identifier: Apache-2.0 */
/* The closing report: totals, spans, names, what lies outside spans, notes. */
#include "report/report.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/bytes.h"
#include "base/string_table.h"
#include "report/elapsed_table.h"
#include "report/hot_list.h"
#include "report/name_table.h"
#include "report/paint.h"
#include "report/report_view.h"
#include "report/span_time.h"
#include "report/terminal_head.h"
#include "report/time_table.h"
#include "report/trace_tree.h"
#include "report/wait_list.h"
#include "spans/spans.h"

#define SPANS_DEFAULT	  10
#define LINES_DEFAULT	  5
#define NAMES_LINES	  21
#define TITLE_COLUMNS_MAX 120 /* farther apart, the eye loses the row */
#define FIGURES_COLUMNS	  70  /* with fewer the name has too little room beside them */

static void paint_section(const struct paint *p, const char *title, const char *remark)
{
	paint_end_line(p);
	paint_text(p, PAINT_BOLD, title);
	paint_end_line(p);
	if (remark)
		paint_wrapped(p, PAINT_DIM, remark, 0);
}

/*
 * "2,104 ms   7.1 %   208 samples"; with waits "5,003 ms seen   210 ms CPU   7.1 %", of which the
 * sum below has the CPU time, too.
 */
static void make_figures(const struct paint *p, const struct report_view *v,
			 const struct span_sum *sum, char *to, size_t size)
{
	char ms[PAINT_NUMBER_MAX], share[PAINT_NUMBER_MAX], number[PAINT_NUMBER_MAX];

	paint_ms(report_view_ns(v, sum->samples), ms);
	paint_share(sum->samples, v->chosen_samples, share);
	if (v->has_waits && p->columns < FIGURES_COLUMNS)
		snprintf(to, size, "%s ms seen", paint_ms(sum->seen_ns, number));
	else if (v->has_waits)
		snprintf(to, size, "%s ms seen%8s ms CPU%9s", paint_ms(sum->seen_ns, number), ms,
			 share);
	else
		snprintf(to, size, "%s ms%9s%6s %s", ms, share, paint_number(sum->samples, number),
			 sum->samples == 1 ? "sample " : "samples");
}

/* " 1. GET /cpu-heavy · shop          2,104 ms   7.1 %   208 samples" */
static void paint_span_title(const struct paint *p, const struct report_view *v,
			     const struct span_sum *sum, size_t rank)
{
	const char *name = report_view_string(v, sum->name);
	const char *service = report_view_string(v, sum->service);
	size_t room, width, service_width;
	char right[128], number[32];

	snprintf(number, sizeof(number), "%2zu. ", rank);
	make_figures(p, v, sum, right, sizeof(right));
	width = paint_width(right);
	room = p->columns < TITLE_COLUMNS_MAX ? p->columns : TITLE_COLUMNS_MAX;
	room = room > width + 6 ? room - width - 6 : 1;
	if (!*name)
		name = "(no name)";
	paint_text(p, PAINT_PLAIN, number);
	service_width = *service ? paint_width(service) + 3 : 0;
	if (service_width && paint_width(name) + service_width <= room) {
		paint_text(p, PAINT_BOLD, name);
		paint_text(p, PAINT_PLAIN, " \xc2\xb7 ");
		paint_cell(p, PAINT_PLAIN, service, room - paint_width(name) - 3, true);
	} else {
		paint_cell(p, PAINT_BOLD, name, room, true);
	}
	paint_spaces(p, 2);
	paint_text(p, PAINT_BOLD, right);
	paint_end_line(p);
}

static void paint_identity(const struct paint *p, const struct report_view *v,
			   const struct span_sum *sum)
{
	static const uint8_t no_trace[16];
	const struct span *span = spans_get(v->spans, sum->span);

	if (!span)
		return;
	paint_span_ids(p, span->trace_id, span->span_id);
	if (!memcmp(span->trace_id, no_trace, sizeof(no_trace)))
		paint_wrapped(p, PAINT_DIM, "its labels name no trace: nothing can link it", 4);
	else if (!span->sampled)
		paint_wrapped(p, PAINT_DIM, "not sampled by the tracer: no trace backend has it",
			      4);
}

static size_t count_listed(const struct report_view *v, const struct report_options *options)
{
	size_t max = options->spans_max ? options->spans_max : SPANS_DEFAULT;

	return v->sum_count < max ? v->sum_count : max;
}

static int paint_spans(const struct paint *p, const struct report_view *v,
		       const struct report_options *options)
{
	char ms[PAINT_NUMBER_MAX], legend[128];
	size_t listed = count_listed(v, options), i;
	size_t lines = options->lines_max ? options->lines_max : LINES_DEFAULT;
	const struct span_sum *sum;
	bool titled = false;
	int err = 0;

	snprintf(legend, sizeof(legend),
		 "self: CPU time on that very line \xc2\xb7 total: with all it called \xc2\xb7 one "
		 "sample: %s ms",
		 paint_ms(report_view_ns(v, 1), ms));
	paint_section(p,
		      v->has_waits ? "Spans with the most time, on a CPU and off"
				   : "Spans with the most CPU",
		      v->on_cpu_count ? legend : NULL);
	for (i = 0; !err && i < listed; i++) {
		sum = &v->sums[i];
		paint_end_line(p);
		paint_span_title(p, v, sum, i + 1);
		paint_identity(p, v, sum);
		err = span_time_paint(p, v, sum);
		if (!err)
			err = hot_list_paint(p, v, &v->chosen[sum->first], sum->rows, lines,
					     !titled);
		titled |= sum->rows > 0;
	}
	return err;
}

/* Where waits are known CPU is one of two tables. */
static int paint_names(const struct paint *p, const struct report_view *v)
{
	const struct name_table_options table = {.lines_max = NAMES_LINES};

	paint_section(p, v->has_waits ? "CPU by span name" : "By span name",
		      "p50, max: CPU of one span, over the spans that were seen on a CPU");
	return name_table_paint(p, v, &table);
}

static int paint_times(const struct paint *p, const struct report_view *v)
{
	paint_section(
		p, "By span name",
		"in ms; runnable: no P had taken the goroutine; not on CPU: its thread had none");
	return time_table_paint(p, v, NAMES_LINES);
}

static int paint_elapsed(const struct paint *p, const struct report_view *v)
{
	paint_section(
		p, "How long spans took",
		"of those that ended, also where no sample saw them; read from the SDK's memory; "
		"p50 and p95 within 6 %");
	return elapsed_table_paint(p, v, NAMES_LINES);
}

/* The first of the spans listed whose trace has more than that span. */
static int paint_trace(const struct paint *p, const struct report_view *v,
		       const struct report_options *options)
{
	size_t listed = count_listed(v, options), i;
	const struct span *span;
	char title[64];

	for (i = 0; i < listed; i++) {
		span = spans_get(v->spans, v->sums[i].span);
		if (span && trace_tree_has_rows(v, span->trace_id))
			break;
	}
	if (i == listed)
		return 0;
	snprintf(title, sizeof(title), "The trace of span %zu", i + 1);
	paint_section(p, title,
		      "its spans in the processes profiled, along time; CPU without that of spans "
		      "inside; +: not ended yet");
	return trace_tree_paint(p, v, span->trace_id, NAMES_LINES);
}

static int paint_outside(const struct paint *p, const struct report_view *v,
			 const struct report_options *options)
{
	char ms[PAINT_NUMBER_MAX], share[PAINT_NUMBER_MAX], title[128];

	snprintf(title, sizeof(title), "CPU outside any span: %s ms (%s)",
		 paint_ms(report_view_ns(v, v->outside_samples), ms),
		 paint_share(v->outside_samples, v->chosen_samples, share));
	paint_section(p, title, NULL);
	if (v->profile.unsampled && !v->filtered) {
		snprintf(title, sizeof(title),
			 "%s samples of these are of spans that the tracer sampled out",
			 paint_number(v->profile.unsampled, ms));
		paint_wrapped(p, PAINT_PLAIN, title, 0);
	}
	paint_wrapped(p, PAINT_DIM,
		      "garbage collection, start-up, spans begun before profiling, requests that "
		      "are not traced, code that starts no span",
		      0);
	return hot_list_paint(p, v, v->chosen, v->outside_rows,
			      options->lines_max ? options->lines_max : LINES_DEFAULT, true);
}

static int paint_waits_outside(const struct paint *p, const struct report_view *v)
{
	paint_section(p, "Off CPU outside any span", "goroutines: how many stood there on average");
	return wait_list_paint(p, v, NAMES_LINES);
}

static int paint_all(const struct paint *p, const struct report_view *v,
		     const struct report_options *options)
{
	int err = 0;

	terminal_head_paint(p, v, options);
	if (v->sum_count)
		err = paint_spans(p, v, options);
	if (!err)
		err = paint_trace(p, v, options);
	if (!err && v->has_waits && v->sum_count > 1)
		err = paint_times(p, v);
	if (!err && v->on_cpu_count > 1)
		err = paint_names(p, v);
	if (!err && !v->filtered && elapsed_table_has_rows(v))
		err = paint_elapsed(p, v);
	if (!err && v->outside_samples)
		err = paint_outside(p, v, options);
	if (!err && v->outside_waits)
		err = paint_waits_outside(p, v);
	if (!err)
		terminal_notes_paint(p, v);
	return err;
}

static struct paint make_paint(const struct report_options *options, struct buffer *out)
{
	struct paint paint = {.out = out, .color = options->color, .columns = options->columns};

	if (!paint.columns)
		paint.columns = 100;
	if (paint.columns < REPORT_COLUMNS_MIN)
		paint.columns = REPORT_COLUMNS_MIN;
	return paint;
}

int report_terminal(const struct profile *p, const struct report_options *options,
		    struct buffer *out)
{
	struct paint paint = make_paint(options, out);
	struct report_view view;
	int err;

	err = report_view_open(p, options, &view);
	if (err)
		return err;
	err = paint_all(&paint, &view, options);
	report_view_close(&view);
	return err ? err : out->failed ? -ENOSPC : 0;
}

int report_live(const struct profile *p, const struct report_options *options, size_t rows,
		struct buffer *out)
{
	const struct name_table_options table = {.lines_max = rows, .live = true};
	struct paint paint = make_paint(options, out);
	struct report_view view;
	int err;

	if (!rows)
		return 0;
	err = report_view_open(p, options, &view);
	if (err)
		return err;
	err = name_table_paint(&paint, &view, &table);
	report_view_close(&view);
	return err ? err : out->failed ? -ENOSPC : 0;
}
