/* SPDX-License-Identifier: Apache-2.0 */
/* symbolize: the cache of locations and the images they belong to. */
#include "symbolize/symbolize.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* uthash ends the program when out of memory, unless told to leave the item out. */
#define HASH_NONFATAL_OOM	   1
#define uthash_nonfatal_oom(image) free(image)

#include "base/string_table.h"
#include "symbolize/elf_symbols.h"
#include "symbolize/kernel_names.h"
#include "symbolize/symbolize_private.h"

/* A location takes 48 bytes and 32 a frame; its strings are mostly shared with others. */
#define ARENA_BYTES_PER_LOCATION   192
#define STRINGS_BYTES_PER_LOCATION 128
#define ARENA_BYTES_MIN		   (256 << 10)
#define STRINGS_BYTES_MIN	   (512 << 10)

static size_t at_least(size_t value, size_t least)
{
	return value > least ? value : least;
}

static int open_strings(struct symbolizer *s)
{
	return string_table_open(
		at_least(s->config.locations_max * STRINGS_BYTES_PER_LOCATION, STRINGS_BYTES_MIN),
		&s->strings);
}

int symbolizer_open(const struct symbolizer_config *config, struct symbolizer **out)
{
	struct symbolizer *s = calloc(1, sizeof(*s));
	int err;

	if (!s)
		return -ENOMEM;
	s->config = *config;
	/* Twice what is_full says, so that a sample can always be finished. */
	s->arena.cap_bytes =
		at_least(config->locations_max * ARENA_BYTES_PER_LOCATION * 2, ARENA_BYTES_MIN * 2);
	s->next_serial = 1;
	s->next_location_id = 1;
	s->next_mapping_id = 1;
	err = open_strings(s);
	if (!err)
		err = symbol_files_open(config->cache, &s->files);
	/* Now: at the first kernel address every sample would wait for it. */
	if (!err && config->kernel)
		err = kernel_names_open(&s->kernel);
	if (err) {
		symbolizer_close(s);
		return err;
	}
	s->kernel_mapping = (struct frame_mapping){
		.id = s->next_mapping_id++,
		.file = "[kernel]",
		.build_id_go = "",
		.build_id_gnu = "",
	};
	*out = s;
	return 0;
}

void symbolizer_close(struct symbolizer *s)
{
	struct image *image, *next;

	if (!s)
		return;
	HASH_ITER (hh, s->images, image, next) {
		HASH_DEL(s->images, image);
		free(image);
	}
	handle_index_close(&s->index);
	free(s->rows);
	arena_reset(&s->arena);
	string_table_close(s->strings);
	symbol_files_close(s->files);
	elf_symbols_close(s->vdso);
	kernel_names_close(s->kernel);
	free(s);
}

int symbolizer_add_image(struct symbolizer *s, uint32_t key, struct process *process,
			 struct gobinary *binary, uint64_t bias)
{
	struct image *image = calloc(1, sizeof(*image));

	if (!image)
		return -ENOMEM;
	symbolizer_forget(s, key);
	image->key = key;
	image->serial = s->next_serial++;
	image->process = process;
	image->binary = binary;
	image->bias = bias;
	HASH_ADD(hh, s->images, key, sizeof(image->key), image);
	HASH_FIND(hh, s->images, &key, sizeof(key), image);
	return image ? 0 : -ENOMEM;
}

void symbolizer_forget(struct symbolizer *s, uint32_t key)
{
	struct image *image;

	HASH_FIND(hh, s->images, &key, sizeof(key), image);
	if (!image)
		return;
	HASH_DEL(s->images, image);
	free(image);
}

static bool is_same_row(const void *owner, uint32_t handle, const void *key)
{
	const struct symbolizer *s = owner;

	return !memcmp(&s->rows[handle - 1].key, key, sizeof(struct location_key));
}

static int add_row(struct symbolizer *s, uint64_t hash, const struct location_key *key,
		   const struct location *location)
{
	size_t capacity = s->row_capacity ? s->row_capacity * 2 : 256;
	struct location_row *rows;
	int err;

	if (s->index.count == s->row_capacity) {
		rows = reallocarray(s->rows, capacity, sizeof(*rows));
		if (!rows)
			return -ENOMEM;
		s->rows = rows;
		s->row_capacity = capacity;
	}
	s->rows[s->index.count] = (struct location_row){.key = *key, .location = location};
	err = handle_index_add(&s->index, hash, (uint32_t)s->index.count + 1);
	if (!err)
		s->stats.locations++;
	return err;
}

static const struct location *find_or_make(struct symbolizer *s, struct image *image,
					   const struct location_key *key)
{
	uint64_t hash = handle_hash(key, sizeof(*key));
	uint32_t row = handle_index_find(&s->index, hash, is_same_row, s, key);
	struct location *location;

	s->stats.lookups++;
	if (row) {
		s->stats.cache_hits++;
		return s->rows[row - 1].location;
	}
	if (s->index.count >= s->config.locations_max * 2)
		return NULL;
	location = key->serial == LOCATION_STATE ? location_make_state(s, (uint32_t)key->address)
						 : location_make(s, image, key);
	if (!location || add_row(s, hash, key, location))
		return NULL;
	return location;
}

const struct location *symbolizer_find(struct symbolizer *s, uint32_t key, uint64_t address,
				       bool exact, bool kernel)
{
	struct location_key wanted = {.address = address, .exact = exact, .kernel = kernel};
	struct image *image = NULL;

	if (!kernel)
		HASH_FIND(hh, s->images, &key, sizeof(key), image);
	wanted.serial = image ? image->serial : 0;
	return find_or_make(s, image, &wanted);
}

const struct location *symbolizer_find_state(struct symbolizer *s, const char *name)
{
	struct location_key wanted = {
		.address = string_table_add(s->strings, name, strlen(name)),
		.serial = LOCATION_STATE,
	};

	return find_or_make(s, NULL, &wanted);
}

bool symbolizer_is_full(const struct symbolizer *s)
{
	return s->index.count >= s->config.locations_max ||
	       s->arena.taken_bytes >= s->arena.cap_bytes / 2 || string_table_dropped(s->strings);
}

/* Ids go on: a location that is made anew is a new one to every cache. */
void symbolizer_reset(struct symbolizer *s)
{
	struct string_table *strings = s->strings;
	struct image *image, *next;

	HASH_ITER (hh, s->images, image, next)
		image->mappings = NULL;
	handle_index_close(&s->index);
	free(s->rows);
	s->rows = NULL;
	s->row_capacity = 0;
	arena_reset(&s->arena);
	/* Out of memory the old strings stay: nothing refers to them, but they are sound. */
	if (!open_strings(s))
		string_table_close(strings);
	else
		s->strings = strings;
	s->stats.locations = 0;
}

void symbolizer_get_stats(const struct symbolizer *s, struct symbolizer_stats *out)
{
	*out = s->stats;
}
