/* SPDX-License-Identifier: Apache-2.0 */
/* A small pprof profile as runtime/pprof writes one, for tests to change one thing of. */
#ifndef TESTS_PPROF_FILE_H
#define TESTS_PPROF_FILE_H

#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "format/format.h"
#include "pprof.pb-c.h"

#define PPROF_START_NS	  INT64_C(1764460800000000000)
#define PPROF_DURATION_NS INT64_C(2000000000)
#define PPROF_PERIOD_NS	  10000000

/* One sample of 7: main.step inlined into main.burn, called by main.main. */
struct pprof_file {
	char *strings[64];
	Pprof__ValueType types[4], *type_list[4], period_type;
	Pprof__Mapping mappings[2], *mapping_list[2];
	Pprof__Function functions[3], *function_list[3];
	Pprof__Line lines[3], *leaf_lines[2], *root_lines[1];
	Pprof__Location locations[2], *location_list[2];
	Pprof__Label labels[8], *label_list[8];
	Pprof__Sample sample, *samples[1];
	uint64_t location_ids[2];
	int64_t values[4];
	Pprof__Profile profile;
};

/* The index of the string, made when new. */
static inline int64_t pprof_text(struct pprof_file *f, const char *text)
{
	size_t *count = &f->profile.n_string_table;

	for (size_t i = 0; i < *count; i++)
		if (!strcmp(f->strings[i], text))
			return (int64_t)i;
	f->strings[*count] = (char *)text;
	return (int64_t)(*count)++;
}

static inline void pprof_add_type(struct pprof_file *f, const char *type, const char *unit,
				  int64_t value)
{
	size_t i = f->profile.n_sample_type++;

	pprof__value_type__init(&f->types[i]);
	f->types[i].type = pprof_text(f, type);
	f->types[i].unit = pprof_text(f, unit);
	f->type_list[i] = &f->types[i];
	f->values[i] = value;
	f->sample.n_value = i + 1;
}

static inline Pprof__Label *pprof_add_label(struct pprof_file *f, const char *key, const char *text)
{
	size_t i = f->sample.n_label++;

	pprof__label__init(&f->labels[i]);
	f->labels[i].key = pprof_text(f, key);
	f->labels[i].str = pprof_text(f, text);
	f->label_list[i] = &f->labels[i];
	return &f->labels[i];
}

static inline void pprof_set_function(struct pprof_file *f, size_t i, const char *name,
				      int64_t start_line, int64_t line)
{
	pprof__function__init(&f->functions[i]);
	f->functions[i].id = i + 1;
	f->functions[i].name = f->functions[i].system_name = pprof_text(f, name);
	f->functions[i].filename = pprof_text(f, "/src/main.go");
	f->functions[i].start_line = start_line;
	f->function_list[i] = &f->functions[i];
	pprof__line__init(&f->lines[i]);
	f->lines[i].function_id = i + 1;
	f->lines[i].line = line;
}

static inline void pprof_set_code(struct pprof_file *f)
{
	pprof_set_function(f, 0, "main.step", 38, 39);
	pprof_set_function(f, 1, "main.burn", 47, 51);
	pprof_set_function(f, 2, "main.main", 70, 83);
	f->leaf_lines[0] = &f->lines[0];
	f->leaf_lines[1] = &f->lines[1];
	f->root_lines[0] = &f->lines[2];
	for (size_t i = 0; i < 2; i++) {
		pprof__mapping__init(&f->mappings[i]);
		f->mappings[i].id = i + 1;
		f->mapping_list[i] = &f->mappings[i];
		pprof__location__init(&f->locations[i]);
		f->locations[i].id = f->location_ids[i] = i + 1;
		f->locations[i].mapping_id = 1;
		f->locations[i].address = 0x401000 + i;
		f->location_list[i] = &f->locations[i];
	}
	f->mappings[0].memory_start = 0x400000;
	f->mappings[0].memory_limit = 0x500000;
	f->mappings[0].filename = pprof_text(f, "/srv/shop");
	f->mappings[0].build_id = pprof_text(f, "16cc8d04");
	f->mappings[1].filename = pprof_text(f, "[vdso]");
	f->locations[0].line = f->leaf_lines;
	f->locations[0].n_line = 2;
	f->locations[1].line = f->root_lines;
	f->locations[1].n_line = 1;
}

/* Without sample types. */
static inline struct pprof_file *new_untyped_pprof(void)
{
	struct pprof_file *f = calloc(1, sizeof(*f));
	Pprof__Profile *m = &f->profile;

	pprof__profile__init(m);
	m->string_table = f->strings;
	pprof_text(f, "");
	m->sample_type = f->type_list;
	m->mapping = f->mapping_list;
	m->n_mapping = 2;
	m->function = f->function_list;
	m->n_function = 3;
	m->location = f->location_list;
	m->n_location = 2;
	m->sample = f->samples;
	m->n_sample = 1;
	m->time_nanos = PPROF_START_NS;
	m->duration_nanos = PPROF_DURATION_NS;
	pprof__value_type__init(&f->period_type);
	pprof_set_code(f);
	pprof__sample__init(&f->sample);
	f->samples[0] = &f->sample;
	f->sample.location_id = f->location_ids;
	f->sample.n_location_id = 2;
	f->sample.value = f->values;
	f->sample.label = f->label_list;
	return f;
}

static inline void pprof_set_period(struct pprof_file *f, const char *type, const char *unit,
				    int64_t period)
{
	f->period_type.type = pprof_text(f, type);
	f->period_type.unit = pprof_text(f, unit);
	f->profile.period_type = &f->period_type;
	f->profile.period = period;
}

static inline struct pprof_file *new_pprof(void)
{
	struct pprof_file *f = new_untyped_pprof();

	pprof_add_type(f, "samples", "count", 7);
	pprof_add_type(f, "cpu", "nanoseconds", INT64_C(7) * PPROF_PERIOD_NS);
	pprof_set_period(f, "cpu", "nanoseconds", PPROF_PERIOD_NS);
	return f;
}

/* Packs it, for the caller to close; the file is freed. */
static inline struct buffer pack_pprof(struct pprof_file *f)
{
	size_t size = pprof__profile__get_packed_size(&f->profile);
	uint8_t *packed = malloc(size + 1);
	struct buffer out;

	buffer_open(&out, 1 << 20);
	buffer_add(&out, packed, pprof__profile__pack(&f->profile, packed));
	free(packed);
	free(f);
	return out;
}

/* Packs and reads it; the file is freed. */
static inline int read_pprof(struct pprof_file *f, struct profile **out,
			     struct format_pprof_notes *notes, char *why, size_t why_size)
{
	struct buffer b = pack_pprof(f);
	int err = format_pprof_read(b.data, b.size, out, notes, why, why_size);

	buffer_close(&b);
	return err;
}

#endif
