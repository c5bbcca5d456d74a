/* SPDX-License-Identifier: Apache-2.0 */
/* Private to format: the dictionary of a request from a stranger, with every index checked. */
#ifndef FORMAT_OTLP_TABLES_H
#define FORMAT_OTLP_TABLES_H

#include "base/location.h"
#include "format/messages.h"
#include "otlp_profiles.pb-c.h"

struct reading;

struct otlp_tables {
	struct arena *arena;
	const Otlp__Dictionary *dictionary;
	struct location **locations;	 /* by index; entry 0 NULL */
	struct frame_mapping **mappings; /* by index; entry 0 NULL */
	uint32_t (*stacks)[2];		 /* by index, not truncated and truncated: the reader's */
	struct reading *reading;	 /* lent */
};

/*
 * Checks all tables and makes locations of them. Overlong texts and stacks are cut in place, so
 * that what refers to them many times walks little each time. `dictionary` may be NULL (all tables
 * empty); it and the arena are lent for the life of the tables; `reading` is set before. -EBADMSG,
 * -ENOMEM.
 */
int otlp_tables_open(struct otlp_tables *t, struct arena *arena, Otlp__Dictionary *dictionary);
/* -EBADMSG unless 0 <= index < count, or index is 0 (the zero value of an absent table). */
int otlp_tables_check(const struct otlp_tables *t, const char *what, int64_t index, size_t count);
/* Entry of the string table, "" for 0; the index was checked. */
const char *otlp_tables_text(const struct otlp_tables *t, int32_t index);
/* -EBADMSG when the value points outside the string table. */
int otlp_tables_check_value(const struct otlp_tables *t, const Otlp__AnyValue *value);
/* A string value, "" for anything else; the value was checked. */
const char *otlp_tables_value_text(const struct otlp_tables *t, const Otlp__AnyValue *value);
/* Checks a list of attribute indices. */
int otlp_tables_check_attributes(const struct otlp_tables *t, const int32_t *indices, size_t count);
/* The value of the attribute with this key in a checked list, NULL when it is not there. */
const Otlp__AnyValue *otlp_tables_find(const struct otlp_tables *t, const int32_t *indices,
				       size_t count, const char *key);

#endif
