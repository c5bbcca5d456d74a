/* SPDX-License-Identifier: Apache-2.0 */
/* See span_time.h. */
#include "report/span_time.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "report/wait_places.h"
#include "spans/spans.h"

#define LINE_MAX	  1024
#define PLACE_MAX	  512
#define INDENT		  4
#define SECOND_NS	  UINT64_C(1000000000)
#define SHARE_SAMPLES_MIN 10
#define ERROR_MAX	  0.5 /* of a share that tells anything */
#define ERRORS_OF_CHANCE  2

/* What the profile can have seen of a span. */
struct stretch {
	uint64_t took_ns, seen_ns; /* 0: unknown */
	uint64_t before_ns;	   /* the profile */
};

static struct stretch stretch_of(const struct report_view *v, const struct span *span)
{
	struct stretch s = {.took_ns = span ? report_view_took_ns(v, span) : 0};

	if (s.took_ns && span->start_wall_ns < v->profile.start_wall_ns)
		s.before_ns = v->profile.start_wall_ns - span->start_wall_ns;
	s.seen_ns = s.took_ns > s.before_ns ? s.took_ns - s.before_ns : 0;
	return s;
}

/* Hundredths of a second, below one second milliseconds: "" for what rounds to none. */
static const char *amount(uint64_t ns, uint64_t whole_ns, char to[PAINT_NUMBER_MAX])
{
	uint64_t unit_ns = whole_ns < SECOND_NS ? SECOND_NS / 1000 : SECOND_NS / 100;
	char ms[PAINT_NUMBER_MAX];

	to[0] = '\0';
	if (ns < unit_ns / 2)
		return to;
	if (whole_ns < SECOND_NS)
		snprintf(to, PAINT_NUMBER_MAX, "%s ms", paint_ms(ns, ms));
	else
		snprintf(to, PAINT_NUMBER_MAX, "%.2f s", (double)ns / SECOND_NS);
	return to;
}

static void add_text(char line[LINE_MAX], const char *text)
{
	size_t used = strlen(line);

	snprintf(line + used, LINE_MAX - used, "%s", text);
}

static void add_part(char line[LINE_MAX], bool *first, const char *number, const char *what)
{
	if (!*number)
		return;
	add_text(line, *first ? "" : " + ");
	add_text(line, number);
	add_text(line, what);
	*first = false;
}

/* "0.20 s CPU + 0.10 s runnable + 4.70 s waiting (chan receive in main.fetch store.go:31)" */
static int add_parts(const struct report_view *v, const struct span_sum *sum, uint64_t whole_ns,
		     char line[LINE_MAX])
{
	static const struct {
		enum profile_wait_kind kind;
		const char *what;
	} parts[] = {
		{PROFILE_WAIT_RUNNABLE, " runnable"},	    {PROFILE_WAIT_PARKED, " waiting"},
		{PROFILE_WAIT_SYSCALL, " in system calls"}, {PROFILE_WAIT_NO_CPU, " not on a CPU"},
		{PROFILE_WAIT_THROTTLED, " throttled"},
	};
	char number[PAINT_NUMBER_MAX], place[PLACE_MAX], what[PLACE_MAX + 32];
	struct wait_place most;
	bool first = true;
	int err = wait_places_find(v, v->waits + sum->first_wait, sum->wait_rows,
				   WAIT_PLACES_WAITING, &most);

	if (err)
		return err;
	add_part(line, &first, amount(report_view_ns(v, sum->samples), whole_ns, number), " CPU");
	wait_places_text(v, &most, SIZE_MAX, place, sizeof(place));
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		bool is_place = most.ns && most.kind == parts[i].kind;

		snprintf(what, sizeof(what), is_place ? "%s (%s)" : "%s", parts[i].what, place);
		add_part(line, &first, amount(sum->wait_ns[parts[i].kind], whole_ns, number), what);
	}
	return 0;
}

/* "still open after 7.00 s, seen for 5.00 s" */
static void add_whole(const struct span *span, const struct stretch *s, char line[LINE_MAX])
{
	char number[PAINT_NUMBER_MAX];

	add_text(line, span->ended ? "" : "still open after ");
	add_text(line, *amount(s->took_ns, s->took_ns, number) ? number : "0 ms");
	if (!s->before_ns)
		return;
	add_text(line, ", seen for ");
	add_text(line, *amount(s->seen_ns, s->took_ns, number) ? number : "none");
}

static double standard_error_ns(const struct report_view *v, const struct span_sum *sum,
				uint64_t seen_ns)
{
	double period = (double)v->profile.period_ns,
	       interval = (double)v->profile.look_interval_ns;
	double off_cpu = (double)sum->off_cpu_ns, beside = 1 - off_cpu / (double)seen_ns;
	double samples = sum->samples ? (double)sum->samples : 1;
	double looks = interval > 0 && beside > 0 ? off_cpu / interval * beside : 0;

	return sqrt(period * period * samples + interval * interval * (looks + 2));
}

/* "accounted for: 98.7 % ± 2 %", or that more than one goroutine was at work. */
static void add_share(const struct report_view *v, const struct span_sum *sum, uint64_t seen_ns,
		      char line[LINE_MAX])
{
	double error = standard_error_ns(v, sum, seen_ns) / (double)seen_ns;
	double share = (double)sum->seen_ns / (double)seen_ns;
	char number[64];

	if (share > 1 + ERRORS_OF_CHANCE * error) {
		snprintf(number, sizeof(number), "work of several goroutines at once: %.0f %%",
			 100 * share);
		add_text(line, number);
		return;
	}
	if (v->profile.look_interval_ns && error > ERROR_MAX) {
		add_text(line, "too short to be accounted for");
		return;
	}
	snprintf(number, sizeof(number), "accounted for: %.1f %%", 100 * share);
	add_text(line, number);
	if (!v->profile.look_interval_ns)
		return;
	snprintf(number, sizeof(number), " \xc2\xb1 %.*f %%", error < 0.01, 100 * error);
	add_text(line, number);
}

static void add_remarks(const struct span *span, const struct stretch *s, char line[LINE_MAX])
{
	char ms[PAINT_NUMBER_MAX];

	if (s->before_ns) {
		add_text(line, *line ? "; it began " : "it began ");
		add_text(line, paint_ms(s->before_ns, ms));
		add_text(line, " ms before the profile");
	}
	if (span->status == SPAN_STATUS_ERROR)
		add_text(line, *line ? "; failed" : "failed");
}

static int paint_sum(const struct paint *p, const struct report_view *v, const struct span_sum *sum,
		     const struct span *span, const struct stretch *s)
{
	uint64_t whole_ns = s->took_ns ? s->took_ns : sum->seen_ns;
	char parts[LINE_MAX] = "", line[LINE_MAX] = "";
	int err = add_parts(v, sum, whole_ns, parts);

	if (err)
		return err;
	if (s->took_ns)
		add_whole(span, s, line);
	add_text(line, *line && *parts ? " = " : "");
	add_text(line, parts);
	paint_wrapped(p, PAINT_PLAIN, line, INDENT);
	line[0] = '\0';
	if (s->seen_ns)
		add_share(v, sum, s->seen_ns, line);
	if (s->took_ns)
		add_remarks(span, s, line);
	if (*line)
		paint_wrapped(p, PAINT_PLAIN, line, INDENT);
	return 0;
}

/*
 * "took 1,502 ms, its own CPU is 95 % of that; failed". The share only where samples tell it, and
 * the profile has all of the span.
 */
static void paint_cpu_alone(const struct paint *p, const struct report_view *v,
			    const struct span_sum *sum, const struct span *span,
			    const struct stretch *s)
{
	char ms[PAINT_NUMBER_MAX], own[64] = "", line[LINE_MAX], remarks[LINE_MAX] = "; ";

	if (!s->took_ns)
		return;
	if (!s->before_ns && sum->samples >= SHARE_SAMPLES_MIN)
		snprintf(own, sizeof(own), ", its own CPU is %.0f %% of that",
			 100.0 * (double)report_view_ns(v, sum->samples) / (double)s->took_ns);
	add_remarks(span, s, remarks + strlen(remarks));
	snprintf(line, sizeof(line), "%s %s ms%s%s", span->ended ? "took" : "still open after",
		 paint_ms(s->took_ns, ms), own, remarks[2] ? remarks : "");
	paint_wrapped(p, PAINT_PLAIN, line, INDENT);
}

int span_time_paint(const struct paint *p, const struct report_view *v, const struct span_sum *sum)
{
	const struct span *span = spans_get(v->spans, sum->span);
	struct stretch s = stretch_of(v, span);

	if (v->looked_at[sum->resource])
		return paint_sum(p, v, sum, span, &s);
	paint_cpu_alone(p, v, sum, span, &s);
	return 0;
}
