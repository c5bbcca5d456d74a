/* SPDX-License-Identifier: Apache-2.0 */
/* Filters and groups the rows of a profile. */
#include "report/report_view.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/hex.h"
#include "base/string_table.h"
#include "spans/spans.h"

#define SEEN_NS 1000000000ull /* a span seen to be open so short before the end was open then */

const char *report_view_string(const struct report_view *v, uint32_t id)
{
	return string_table_get(v->strings, id);
}

uint64_t report_view_ns(const struct report_view *v, uint64_t samples)
{
	return samples * v->profile.period_ns;
}

uint64_t report_view_took_ns(const struct report_view *v, const struct span *span)
{
	uint64_t end_ns = v->profile.start_wall_ns + v->profile.duration_ns;

	if (span->ended)
		return span->duration_ns;
	if (span->open_wall_ns <= span->start_wall_ns || span->open_wall_ns + SEEN_NS < end_ns)
		return 0;
	return span->open_wall_ns - span->start_wall_ns;
}

static int find_services(struct report_view *v, const struct profile *p)
{
	size_t i;

	v->services = calloc(v->profile.resource_count + 1, sizeof(*v->services));
	if (!v->services)
		return -ENOMEM;
	for (i = 1; i < v->profile.resource_count; i++)
		v->services[i] = profile_get_service(p, (uint32_t)i);
	return 0;
}

/* `wanted` is the beginning of the ID in hex, in any case; all of it as a rule. */
static bool is_id(const uint8_t *id, size_t size, const char *wanted)
{
	char hex[33];

	hex_write(id, size, hex);
	return !strncasecmp(hex, wanted, strlen(wanted));
}

static bool is_wanted(const struct report_view *v, const struct report_options *o,
		      uint32_t resource, uint32_t handle)
{
	const struct span *span;

	if (o->service && strcmp(report_view_string(v, v->services[resource]), o->service))
		return false;
	if (!o->trace_id && !o->span_id && !o->span_name)
		return true;
	span = spans_get(v->spans, handle);
	if (!span)
		return false;
	return (!o->trace_id || is_id(span->trace_id, sizeof(span->trace_id), o->trace_id)) &&
	       (!o->span_id || is_id(span->span_id, sizeof(span->span_id), o->span_id)) &&
	       (!o->span_name || !strcmp(report_view_string(v, span->name), o->span_name));
}

static int by_span(const void *left, const void *right, void *context)
{
	const struct profile_sample *samples = context;
	const struct profile_sample *a = &samples[*(const uint32_t *)left];
	const struct profile_sample *b = &samples[*(const uint32_t *)right];

	if (a->span != b->span)
		return a->span < b->span ? -1 : 1;
	if (a->count != b->count)
		return a->count > b->count ? -1 : 1;
	return a < b ? -1 : a > b;
}

static int choose(struct report_view *v, const struct report_options *o)
{
	const struct profile_sample *sample;
	size_t i;

	v->chosen = calloc(v->profile.sample_count + 1, sizeof(*v->chosen));
	if (!v->chosen)
		return -ENOMEM;
	for (i = 1; i < v->profile.sample_count; i++) {
		sample = &v->profile.samples[i];
		v->all_samples += sample->count;
		if (!is_wanted(v, o, sample->resource, sample->span))
			continue;
		v->chosen[v->chosen_count++] = (uint32_t)i;
		v->chosen_samples += sample->count;
		if (!sample->span) {
			v->outside_rows++;
			v->outside_samples += sample->count;
		}
	}
	qsort_r(v->chosen, v->chosen_count, sizeof(*v->chosen), by_span,
		(void *)v->profile.samples);
	return 0;
}

static int by_waiting_span(const void *left, const void *right, void *context)
{
	const struct profile_wait *waits = context;
	const struct profile_wait *a = &waits[*(const uint32_t *)left];
	const struct profile_wait *b = &waits[*(const uint32_t *)right];

	if (a->span != b->span)
		return a->span < b->span ? -1 : 1;
	return a < b ? -1 : a > b;
}

static int choose_waits(struct report_view *v, const struct report_options *o)
{
	v->waits = calloc(v->profile.wait_count + 1, sizeof(*v->waits));
	v->looked_at = calloc(v->profile.resource_count + 1, sizeof(*v->looked_at));
	if (!v->waits || !v->looked_at)
		return -ENOMEM;
	for (size_t i = 1; i < v->profile.wait_count; i++) {
		const struct profile_wait *wait = &v->profile.waits[i];

		v->looked_at[wait->resource] = v->has_waits = true;
		if (!is_wanted(v, o, wait->resource, wait->span))
			continue;
		v->waits[v->wait_count++] = (uint32_t)i;
		v->outside_waits += !wait->span;
		v->off_cpu_ns += wait->span ? wait->ns : 0;
	}
	qsort_r(v->waits, v->wait_count, sizeof(*v->waits), by_waiting_span,
		(void *)v->profile.waits);
	return 0;
}

static int by_time(const void *left, const void *right)
{
	const struct span_sum *a = left, *b = right;

	if (a->seen_ns != b->seen_ns)
		return a->seen_ns > b->seen_ns ? -1 : 1;
	return a->span < b->span ? -1 : a->span > b->span;
}

/* From chosen[at] on, as long as they are of the span; where the next one's begin. */
static size_t add_samples(const struct report_view *v, size_t at, struct span_sum *sum)
{
	sum->first = at;
	for (; at < v->chosen_count; at++, sum->rows++) {
		const struct profile_sample *sample = &v->profile.samples[v->chosen[at]];

		if (sample->span != sum->span)
			break;
		if (!sum->rows)
			sum->resource = sample->resource;
		sum->samples += sample->count;
	}
	return at;
}

static size_t add_waits(const struct report_view *v, size_t at, struct span_sum *sum)
{
	sum->first_wait = at;
	for (; at < v->wait_count; at++, sum->wait_rows++) {
		const struct profile_wait *wait = &v->profile.waits[v->waits[at]];

		if (wait->span != sum->span)
			break;
		if (!sum->wait_rows)
			sum->resource = wait->resource;
		sum->wait_ns[wait->kind] += wait->ns;
		sum->off_cpu_ns += wait->ns;
	}
	return at;
}

/* The span of these two that comes first. */
static uint32_t next_span(const struct report_view *v, size_t sample, size_t wait)
{
	uint32_t a =
		sample < v->chosen_count ? v->profile.samples[v->chosen[sample]].span : UINT32_MAX;
	uint32_t b = wait < v->wait_count ? v->profile.waits[v->waits[wait]].span : UINT32_MAX;

	return a < b ? a : b;
}

static int add_up(struct report_view *v)
{
	size_t sample = v->outside_rows, wait = v->outside_waits;

	v->sums = calloc(v->chosen_count + v->wait_count + 1, sizeof(*v->sums));
	if (!v->sums)
		return -ENOMEM;
	while (sample < v->chosen_count || wait < v->wait_count) {
		struct span_sum *sum = &v->sums[v->sum_count++];
		const struct span *span;

		sum->span = next_span(v, sample, wait);
		wait = add_waits(v, wait, sum);
		sample = add_samples(v, sample, sum);
		span = spans_get(v->spans, sum->span);
		sum->name = span ? span->name : 0;
		sum->service = v->services[sum->resource];
		sum->seen_ns = report_view_ns(v, sum->samples) + sum->off_cpu_ns;
		v->on_cpu_count += sum->samples > 0;
		v->off_cpu_count += sum->off_cpu_ns > 0;
	}
	qsort(v->sums, v->sum_count, sizeof(*v->sums), by_time);
	return 0;
}

int report_view_open(const struct profile *p, const struct report_options *options,
		     struct report_view *out)
{
	int err;

	memset(out, 0, sizeof(*out));
	profile_get_view(p, &out->profile);
	out->strings = profile_get_strings(p);
	out->spans = profile_get_spans(p);
	out->filtered =
		options->trace_id || options->span_id || options->span_name || options->service;
	err = find_services(out, p);
	if (!err)
		err = choose(out, options);
	if (!err)
		err = choose_waits(out, options);
	if (!err)
		err = add_up(out);
	if (err)
		report_view_close(out);
	return err;
}

void report_view_close(struct report_view *v)
{
	free(v->sums);
	free(v->looked_at);
	free(v->waits);
	free(v->chosen);
	free(v->services);
	memset(v, 0, sizeof(*v));
}
