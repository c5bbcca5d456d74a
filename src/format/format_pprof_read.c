/* SPDX-License-Identifier: Apache-2.0 */
/* A pprof file → a profile: spanprof's own and those of runtime/pprof and other tools. */
#include "format/format.h"

#include <errno.h>
#include <stdio.h>

#include "base/bytes.h"
#include "base/gzip.h"
#include "format/pprof_labels.h"
#include "format/pprof_tables.h"
#include "format/pprof_types.h"
#include "format/reading.h"
#include "format/wire_field.h"
#include "profile/profile.h"

/* Eight times the largest file; stacks of 40 with labels take seven. Half a MiB of gzip may ask for
 * it. */
#define ARENA_BYTES_MAX ((size_t)1 << 30)
#define FILE_MIB	(FORMAT_OTLP_FILE_BYTES_MAX >> 20)
/* Profile.mapping to Profile.string_table: no other file that is read has such fields. */
#define FIELD_MAPPING	   3
#define FIELD_STRING_TABLE 6

struct reader {
	struct pprof_tables tables;
	struct pprof_types types;
	struct reading *reading;
	struct format_pprof_notes *notes;
	struct profile *out;
	uint64_t carry_ns;   /* see profile_scale */
	const char *service; /* of `resource`; NULL: that is the program */
	uint32_t resource, program;
};

/* What one sample is worth. */
struct worth {
	uint64_t count; /* of CPU samples */
	uint64_t wait_ns;
};

bool format_is_pprof(const void *data, size_t size)
{
	struct bytes b = bytes_over(data, size);

	if (gzip_begins(data, size))
		return true;
	while (bytes_left(&b)) {
		uint64_t number = wire_field_skip(&b);

		if (number >= FIELD_MAPPING && number <= FIELD_STRING_TABLE)
			return true;
		if (!number)
			return false;
	}
	return false;
}

/* One value as a time, 0 where the profile has no such type. */
static int read_ns(struct reader *r, const Pprof__Sample *m, size_t type, uint64_t unit_ns,
		   uint64_t *ns)
{
	*ns = 0;
	if (type == PPROF_TYPE_NONE)
		return 0;
	if (m->value[type] < 0 || __builtin_mul_overflow((uint64_t)m->value[type], unit_ns, ns))
		return reading_fail(r->reading, "a sample has the value %lld",
				    (long long)m->value[type]);
	return 0;
}

static int read_worth(struct reader *r, const Pprof__Sample *m, struct worth *out)
{
	const struct pprof_types *types = &r->types;
	uint64_t cpu_ns = 0;
	int err;

	if (m->n_value != types->count)
		return reading_fail(r->reading, "a sample has %zu values for %zu sample types",
				    m->n_value, types->count);
	err = read_ns(r, m, types->cpu, types->cpu_ns, &cpu_ns);
	if (!err)
		err = read_ns(r, m, types->off_cpu, types->off_cpu_ns, &out->wait_ns);
	if (err)
		return err;
	out->count = profile_scale(cpu_ns, 1, types->period_ns, &r->carry_ns);
	return reading_spend_worth(r->reading, out->count, out->wait_ns);
}

/* The program as the agent would name it, for samples without a label of their service. */
static uint32_t add_program(struct reader *r)
{
	const char *program = pprof_tables_program(&r->tables);
	const struct resource_attribute attributes[] = {
		{.key = "service.name", .value = program},
		{.key = "process.executable.name", .value = program},
	};

	return program[0] ? profile_add_resource(r->out, attributes, 2) : 0;
}

static void set_service(struct reader *r, const char *service)
{
	const struct resource_attribute attribute = {.key = "service.name", .value = service};

	if (service == r->service)
		return;
	r->service = service;
	r->resource = service ? profile_add_resource(r->out, &attribute, 1) : r->program;
}

static void read_span(struct reader *r, struct pprof_labels *labels, const struct worth *worth,
		      struct sample_input *sample)
{
	struct span *span = &labels->span;

	r->notes->malformed_ids += labels->malformed;
	if (!labels->has_span)
		return;
	r->notes->without_trace += !labels->has_trace;
	span->resource = r->resource;
	span->samples = worth->count;
	if (__builtin_mul_overflow(span->samples, r->types.period_ns, &span->value_ns))
		span->value_ns = UINT64_MAX;
	sample->span = spans_absorb(profile_get_spans(r->out), span, labels->span_name);
	if (!sample->span)
		sample->span = PROFILE_SPAN_LOST;
}

/* `locations` has room for READING_DEPTH_MAX. All that a sample names is checked. */
static int read_stack(struct reader *r, const Pprof__Sample *m, const struct location **locations,
		      size_t *count)
{
	*count = 0;
	for (size_t i = 0; i < m->n_location_id; i++) {
		const struct location *location;
		int err = pprof_tables_location(&r->tables, m->location_id[i], &location);

		if (err)
			return err;
		if (location && *count < READING_DEPTH_MAX)
			locations[(*count)++] = location;
	}
	return 0;
}

/* -ENOSPC of either is counted in the profile. */
static int add(struct reader *r, const struct sample_input *sample, const struct worth *worth)
{
	const char *state = "";
	uint32_t stack;
	int err = profile_add_stack(r->out, sample, &stack);

	if (err == -ENOSPC) {
		profile_drop(r->out, worth->count);
		profile_drop_wait(r->out, worth->wait_ns);
	}
	if (err)
		return err;
	if (worth->count)
		err = profile_add_to_stack(r->out, sample, stack);
	if (!worth->wait_ns || (err && err != -ENOSPC))
		return err;
	if (sample->location_count && sample->locations[0]->frame_count)
		state = sample->locations[0]->frames[0].function;
	return profile_add_wait_to_stack(r->out, sample, stack, profile_wait_kind_of(state),
					 worth->wait_ns);
}

static int read_sample(struct reader *r, const Pprof__Sample *m)
{
	const struct location *locations[READING_DEPTH_MAX];
	struct sample_input sample = {.locations = locations};
	struct pprof_labels labels;
	struct worth worth = {0};
	int err = read_worth(r, m, &worth);

	if (!err)
		err = read_stack(r, m, locations, &sample.location_count);
	if (!err)
		err = pprof_labels_read(&r->tables, m, &labels);
	if (err || (!worth.count && !worth.wait_ns))
		return err;
	set_service(r, labels.service);
	read_span(r, &labels, &worth, &sample);
	sample.resource = r->resource;
	sample.count = worth.count;
	err = add(r, &sample, &worth);
	return err == -ENOSPC ? 0 : err;
}

static int read_profile(struct reader *r, const Pprof__Profile *m)
{
	uint64_t start_ns = m->time_nanos > 0 ? (uint64_t)m->time_nanos : 0;
	uint64_t duration_ns = m->duration_nanos > 0 ? (uint64_t)m->duration_nanos : 0;
	struct profile_config config = reading_config;
	int err = pprof_types_read(&r->tables, &r->types);

	if (err)
		return err;
	config.period_ns = r->types.period_ns;
	err = profile_open(&config, start_ns, &r->out);
	if (err)
		return err;
	if (start_ns) /* a duration alone is no time that other files' could be joined to */
		profile_set_end(r->out, start_ns + duration_ns);
	r->carry_ns = r->types.period_ns / 2;
	r->resource = r->program = add_program(r);
	for (size_t i = 0; !err && i < m->n_sample; i++)
		err = read_sample(r, m->sample[i]);
	r->notes->samples = m->n_sample;
	r->notes->types_left_out = r->types.left_out;
	return err;
}

static int read_message(struct reader *r, const void *data, size_t size)
{
	struct arena arena;
	ProtobufCAllocator allocator = reading_allocator(&arena);
	Pprof__Profile *m;
	int err;

	reading_open_arena(&arena, size, ARENA_BYTES_MAX);
	r->tables = (struct pprof_tables){.arena = &arena, .reading = r->reading};
	m = pprof__profile__unpack(&allocator, size, data);
	if (!m && arena.failed)
		err = -ENOMEM;
	else if (!m)
		err = reading_fail(r->reading, "not a pprof profile, or one that is cut off");
	else
		err = pprof_tables_open(&r->tables, m);
	if (!err)
		err = read_profile(r, m);
	arena_close(&arena);
	return err;
}

/* `plain` holds what was unpacked, if anything was. */
static int unpack(struct reading *reading, const void **data, size_t *size, struct buffer *plain)
{
	int err = 0;

	if (*size > FORMAT_OTLP_FILE_BYTES_MAX)
		return reading_fail(reading, "larger than %zu MiB", FILE_MIB);
	if (!gzip_begins(*data, *size))
		return 0;
	err = gzip_unpack(*data, *size, plain);
	*data = plain->data;
	*size = plain->size;
	if (err == -EFBIG)
		return reading_fail(reading, "larger than %zu MiB when it is unpacked", FILE_MIB);
	return err == -EBADMSG ? reading_fail(reading, "its gzip data are damaged or cut off")
			       : err;
}

int format_pprof_read(const void *data, size_t size, struct profile **out,
		      struct format_pprof_notes *notes, char *why, size_t why_size)
{
	struct reading reading = reading_of(0, why, why_size);
	struct reader r = {.reading = &reading, .notes = notes};
	struct buffer plain;
	int err;

	*notes = (struct format_pprof_notes){0};
	buffer_open(&plain, FORMAT_OTLP_FILE_BYTES_MAX);
	err = unpack(&reading, &data, &size, &plain);
	reading = reading_of(size, why, why_size); /* of the unpacked size; keeps what `why` says */
	if (!err)
		err = read_message(&r, data, size);
	if (err == -ENOMEM)
		snprintf(why, why_size, "too large once unpacked, or out of memory");
	if (err)
		profile_close(r.out);
	else
		*out = r.out;
	buffer_close(&plain);
	return err;
}
