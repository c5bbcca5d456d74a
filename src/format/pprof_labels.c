/* SPDX-License-Identifier: Apache-2.0 */
/* Labels are text that anybody may have set: an ID is taken as it is meant, or not at all. */
#include "format/pprof_labels.h"

#include <string.h>

#include "base/decimal.h"
#include "base/hex.h"
#include "format/reading.h"

/* Longer than any ID: any number of samples may name one long text. */
#define ID_TEXT_MAX 64

/* Of two keys with one meaning the first counts. */
enum key {
	KEY_TRACE,
	KEY_SPAN,
	KEY_PROFILE,
	KEY_SPAN_DECIMAL,
	KEY_SPAN_NAME,
	KEY_SPAN_SAMPLED,
	KEY_SERVICE,
	KEY_SERVICE_NAME,
	KEY_SERVICE_DOT_NAME,
	KEYS,
};

static const char *const keys[KEYS] = {
	[KEY_TRACE] = "trace_id",
	[KEY_SPAN] = "span_id",
	[KEY_PROFILE] = "profile_id",
	[KEY_SPAN_DECIMAL] = "span id",
	[KEY_SPAN_NAME] = "span_name",
	[KEY_SPAN_SAMPLED] = "span_sampled",
	[KEY_SERVICE] = "service",
	[KEY_SERVICE_NAME] = "service_name",
	[KEY_SERVICE_DOT_NAME] = "service.name",
};

struct found {
	const char *text[KEYS]; /* NULL: not there, or empty */
	uint64_t span_number;	/* of a label that is a number, 0 none */
};

static int find_labels(const struct pprof_tables *t, const Pprof__Sample *m, struct found *found)
{
	for (size_t i = 0; i < m->n_label; i++) {
		const Pprof__Label *label = m->label[i];
		const char *name = "", *text = "";
		int err = pprof_tables_text(t, label->key, &name), key = 0;

		if (!err)
			err = pprof_tables_text(t, label->str, &text);
		if (err)
			return err;
		while (key < KEYS && strcmp(name, keys[key]))
			key++;
		if (key == KEYS)
			continue;
		if (text[0] && !found->text[key])
			found->text[key] = text;
		/* The format's numbers have a sign, these IDs have none. */
		if (key == KEY_SPAN_DECIMAL && !text[0])
			found->span_number = (uint64_t)label->num;
	}
	return 0;
}

static bool is_zero(const uint8_t *id, size_t size)
{
	static const uint8_t zeros[16];

	return !memcmp(id, zeros, size);
}

/* No span has an ID of zeros (W3C Trace Context). */
static void read_span_id(const struct found *found, struct pprof_labels *out)
{
	const char *hex = found->text[KEY_SPAN] ? found->text[KEY_SPAN] : found->text[KEY_PROFILE];
	const char *decimal = found->text[KEY_SPAN_DECIMAL];
	uint8_t *id = out->span.span_id;
	bool is_id = false;

	if (hex)
		is_id = hex_read(hex, strnlen(hex, ID_TEXT_MAX), id, sizeof(out->span.span_id));
	else if (decimal)
		is_id = decimal_read(decimal, strnlen(decimal, ID_TEXT_MAX), id);
	else if (found->span_number)
		decimal_put(found->span_number, id), is_id = true;
	out->has_span = is_id && !is_zero(id, sizeof(out->span.span_id));
	out->malformed |= (hex || decimal) && !out->has_span;
}

/* Zeros are what format_pprof writes of a span without a trace. */
static void read_trace_id(const struct found *found, struct pprof_labels *out)
{
	const char *hex = found->text[KEY_TRACE];
	uint8_t *id = out->span.trace_id;
	size_t size = sizeof(out->span.trace_id);

	if (hex && !hex_read(hex, strnlen(hex, ID_TEXT_MAX), id, size)) {
		out->malformed = true;
		memset(id, 0, size);
	}
	out->has_trace = !is_zero(id, size);
}

int pprof_labels_read(const struct pprof_tables *t, const Pprof__Sample *m,
		      struct pprof_labels *out)
{
	struct found found = {0};
	const char *sampled;
	int err = find_labels(t, m, &found);

	*out = (struct pprof_labels){.span_name = "", .service = found.text[KEY_SERVICE]};
	if (err)
		return err;
	read_span_id(&found, out);
	read_trace_id(&found, out);
	sampled = found.text[KEY_SPAN_SAMPLED];
	out->span.sampled = out->has_trace && !(sampled && !strcmp(sampled, "false"));
	if (found.text[KEY_SPAN_NAME])
		out->span_name = found.text[KEY_SPAN_NAME];
	if (!out->service)
		out->service = found.text[KEY_SERVICE_NAME];
	if (!out->service)
		out->service = found.text[KEY_SERVICE_DOT_NAME];
	err = reading_spend(t->reading, out->span_name);
	return err || !out->service ? err : reading_spend(t->reading, out->service);
}
