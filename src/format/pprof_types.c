/* SPDX-License-Identifier: Apache-2.0 */
/* See pprof_types.h. */
#include "format/pprof_types.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "format/reading.h"

/* A longer period than this, a hundred days, is none. */
#define PERIOD_NS_MAX (UINT64_C(1) << 53)
/* Named where a profile is refused. */
#define NAMED_MAX 4

struct type {
	const char *name, *unit;
};

static int read_type(const struct pprof_tables *t, const Pprof__ValueType *m, struct type *out)
{
	int err;

	*out = (struct type){"", ""};
	if (!m)
		return 0;
	err = pprof_tables_text(t, m->type, &out->name);
	return err ? err : pprof_tables_text(t, m->unit, &out->unit);
}

/* What a unit of time is worth, 0: it is none. */
static uint64_t unit_ns(const char *unit)
{
	static const struct {
		const char *name;
		uint64_t ns;
	} units[] = {
		{"nanoseconds", 1},
		{"microseconds", 1000},
		{"milliseconds", 1000000},
		{"seconds", 1000000000},
	};

	for (size_t i = 0; i < sizeof(units) / sizeof(*units); i++)
		if (!strcmp(unit, units[i].name))
			return units[i].ns;
	return 0;
}

static bool is_time(const struct type *type, const char *name)
{
	return !strcmp(type->name, name) && unit_ns(type->unit);
}

static int refuse(const struct pprof_tables *t)
{
	size_t count = t->profile->n_sample_type;
	char names[160] = "";
	struct type type;

	for (size_t i = 0, at = 0; i < count && i < NAMED_MAX && at < sizeof(names); i++) {
		int err = read_type(t, t->profile->sample_type[i], &type);

		if (err)
			return err;
		at += (size_t)snprintf(names + at, sizeof(names) - at, "%s%.30s/%.30s",
				       i ? ", " : "", type.name, type.unit);
	}
	return reading_fail(t->reading, "no profile of CPU time or off_cpu time, but of %s%s",
			    names[0] ? names : "nothing", count > NAMED_MAX ? " …" : "");
}

/* The time between two samples as the values have it: of all CPU time by all samples. */
static uint64_t mean_period(const struct pprof_tables *t, const struct pprof_types *types,
			    size_t samples)
{
	double ns = 0, count = 0;

	for (size_t i = 0; samples != PPROF_TYPE_NONE && i < t->profile->n_sample; i++) {
		const Pprof__Sample *m = t->profile->sample[i];

		if (m->n_value != types->count)
			return 1; /* refused when it is read */
		ns += (double)m->value[types->cpu] * (double)types->cpu_ns;
		count += (double)m->value[samples];
	}
	return ns >= count && count >= 1 && ns / count < (double)PERIOD_NS_MAX
		       ? (uint64_t)(ns / count + 0.5)
		       : 1;
}

/* 0: the profile does not say it. */
static int read_period(const struct pprof_tables *t, uint64_t *ns)
{
	const Pprof__Profile *m = t->profile;
	struct type type;
	int err = read_type(t, m->period_type, &type);

	*ns = 0;
	if (err || !is_time(&type, "cpu") || m->period <= 0 ||
	    (uint64_t)m->period > PERIOD_NS_MAX / unit_ns(type.unit))
		return err;
	*ns = (uint64_t)m->period * unit_ns(type.unit);
	return 0;
}

static int find_types(const struct pprof_tables *t, struct pprof_types *out, size_t *samples)
{
	for (size_t i = 0; i < out->count; i++) {
		struct type type;
		int err = read_type(t, t->profile->sample_type[i], &type);

		if (err)
			return err;
		if (out->cpu == PPROF_TYPE_NONE && is_time(&type, "cpu")) {
			out->cpu = i;
			out->cpu_ns = unit_ns(type.unit);
		} else if (out->off_cpu == PPROF_TYPE_NONE && is_time(&type, "off_cpu")) {
			out->off_cpu = i;
			out->off_cpu_ns = unit_ns(type.unit);
		} else if (*samples == PPROF_TYPE_NONE && !strcmp(type.name, "samples") &&
			   !strcmp(type.unit, "count")) {
			*samples = i;
		} else {
			out->left_out++;
		}
	}
	return 0;
}

int pprof_types_read(const struct pprof_tables *t, struct pprof_types *out)
{
	size_t samples = PPROF_TYPE_NONE;
	int err;

	*out = (struct pprof_types){
		.count = t->profile->n_sample_type,
		.cpu = PPROF_TYPE_NONE,
		.off_cpu = PPROF_TYPE_NONE,
	};
	err = find_types(t, out, &samples);
	if (!err)
		err = read_period(t, &out->period_ns);
	if (err)
		return err;
	if (out->cpu == PPROF_TYPE_NONE && samples != PPROF_TYPE_NONE && out->period_ns) {
		out->cpu = samples;
		out->cpu_ns = out->period_ns;
	}
	if (out->cpu == PPROF_TYPE_NONE && out->off_cpu == PPROF_TYPE_NONE)
		return refuse(t);
	if (!out->period_ns)
		out->period_ns = out->cpu == PPROF_TYPE_NONE ? 1 : mean_period(t, out, samples);
	return 0;
}
