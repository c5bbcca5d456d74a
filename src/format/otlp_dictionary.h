/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Private to format: the dictionary of one OTLP request. Each call gives the index of an entry,
 * added with everything it needs when first asked for: no orphans, no duplicates.
 */
#ifndef FORMAT_OTLP_DICTIONARY_H
#define FORMAT_OTLP_DICTIONARY_H

#include "format/messages.h"
#include "otlp_profiles.pb-c.h"
#include "profile/profile.h"

/* Strings and attribute keys of our own, beside those of the profile. */
enum otlp_word {
	OTLP_SAMPLES,
	OTLP_COUNT,
	OTLP_CPU,
	OTLP_OFF_CPU,
	OTLP_NANOSECONDS,
	OTLP_FRAME_TYPE,
	OTLP_BUILD_ID_GO,
	OTLP_BUILD_ID_GNU,
	OTLP_SPAN_NAME,
	OTLP_SPAN_SAMPLED,
	OTLP_SPAN_START,
	OTLP_SPAN_DURATION,
	OTLP_SPAN_SEEN_OPEN,
	OTLP_SPAN_PARENT,
	OTLP_SPAN_STATUS,
	OTLP_STACK_TRUNCATED,
	OTLP_WORDS
};
extern const char *const otlp_words[OTLP_WORDS];
/* Values of the attribute profile.frame.type, by enum frame_kind; NULL: a state has none. */
extern const char *const otlp_frame_types[FRAME_STATE + 1];

struct otlp_dictionary;

/* `arena` is lent and holds the dictionary, which is to be closed before; NULL when it failed. */
struct otlp_dictionary *otlp_dictionary_new(struct arena *arena, const struct profile *p);
int32_t otlp_dictionary_word(struct otlp_dictionary *d, enum otlp_word word);
int32_t otlp_dictionary_stack(struct otlp_dictionary *d, uint32_t stack);
int32_t otlp_dictionary_link(struct otlp_dictionary *d, uint32_t span);
int32_t otlp_dictionary_span_name(struct otlp_dictionary *d, uint32_t name);
/* What is known of when a span was, its parent and outcome: at most so many, up to a 0. Lent. */
#define OTLP_SPAN_TIMES_MAX 4
const int32_t *otlp_dictionary_span_times(struct otlp_dictionary *d, uint32_t span);
int32_t otlp_dictionary_unsampled(struct otlp_dictionary *d);
int32_t otlp_dictionary_truncated(struct otlp_dictionary *d);
/* The message, valid as long as the arena; NULL when the arena failed. */
Otlp__Dictionary *otlp_dictionary_finish(struct otlp_dictionary *d);
/* Before the arena: lets go of what does not lie in it. */
void otlp_dictionary_close(struct otlp_dictionary *d);

#endif
