/* SPDX-License-Identifier: Apache-2.0 */
/* Links name no span and have no times; see otlp_read_span.h. */
#include "format/otlp_read_span.h"

#include <string.h>

#include "base/hex.h"
#include "format/otlp_dictionary.h"
#include "format/reading.h"
#include "spans/spans.h"

#define NUMBER_MAX (INT64_MAX / 4) /* sums of a few are numbers still */

static const Otlp__AnyValue *find(const struct otlp_tables *t, const Otlp__Sample *m,
				  enum otlp_word word)
{
	return otlp_tables_find(t, m->attribute_indices, m->n_attribute_indices, otlp_words[word]);
}

/* False: there is no such number. */
static bool find_number(const struct otlp_tables *t, const Otlp__Sample *m, enum otlp_word word,
			uint64_t *out)
{
	const Otlp__AnyValue *value = find(t, m, word);

	if (!value || value->value_case != OTLP__ANY_VALUE__VALUE_INT_VALUE ||
	    value->int_value < 0 || value->int_value > NUMBER_MAX)
		return false;
	*out = (uint64_t)value->int_value;
	return true;
}

static void read_id(const char *hex, uint8_t id[8])
{
	uint8_t read[8];

	if (hex_read(hex, strlen(hex), read, sizeof(read)))
		memcpy(id, read, sizeof(read));
}

static void read_times(const struct otlp_tables *t, const Otlp__Sample *m, struct span *span)
{
	uint64_t status = 0;

	if (!find_number(t, m, OTLP_SPAN_START, &span->start_wall_ns))
		return;
	span->ended = find_number(t, m, OTLP_SPAN_DURATION, &span->duration_ns);
	if (!span->ended)
		find_number(t, m, OTLP_SPAN_SEEN_OPEN, &span->open_wall_ns);
	else if (find_number(t, m, OTLP_SPAN_STATUS, &status) && status <= UINT8_MAX)
		span->status = (uint8_t)status;
	read_id(otlp_tables_value_text(t, find(t, m, OTLP_SPAN_PARENT)), span->parent_id);
}

int otlp_read_span(struct otlp_tables *t, const Otlp__Sample *m, struct span *span,
		   const char **name)
{
	const Otlp__Link *link = t->dictionary->link_table[m->link_index];
	const Otlp__AnyValue *sampled = find(t, m, OTLP_SPAN_SAMPLED);

	*span = (struct span){.sampled = true};
	memcpy(span->trace_id, link->trace_id.data, sizeof(span->trace_id));
	memcpy(span->span_id, link->span_id.data, sizeof(span->span_id));
	if (sampled && sampled->value_case == OTLP__ANY_VALUE__VALUE_BOOL_VALUE)
		span->sampled = sampled->bool_value;
	read_times(t, m, span);
	*name = otlp_tables_value_text(t, find(t, m, OTLP_SPAN_NAME));
	return reading_spend(t->reading, *name);
}
