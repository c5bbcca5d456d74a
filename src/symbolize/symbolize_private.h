/* SPDX-License-Identifier: Apache-2.0 */
/* Private to symbolize: the symbolizer's parts. */
#ifndef SYMBOLIZE_SYMBOLIZE_PRIVATE_H
#define SYMBOLIZE_SYMBOLIZE_PRIVATE_H

#include <stdint.h>

#include "base/handle_index.h"
#include "gobinary/pclntab.h"
#include "base/arena.h"
#include "symbolize/image.h"
#include "symbolize/symbolize.h"

#define FRAMES_MAX 64 /* inlined calls of one address; more are cut on the outer side */

struct elf_symbols;
struct kernel_names;
struct string_table;
struct symbol_files;

/* Serial of no image: the address is the string ID of a state's name. */
#define LOCATION_STATE UINT32_MAX

/* What a location was asked for by; compared as bytes, so without padding. */
struct location_key {
	uint64_t address;
	uint32_t serial; /* of the image; 0: kernel or unknown image; LOCATION_STATE */
	uint16_t exact;
	uint16_t kernel;
};

struct location_row {
	struct location_key key;
	const struct location *location;
};

struct symbolizer {
	struct symbolizer_config config;
	struct arena arena;	      /* locations and mappings */
	struct string_table *strings; /* their strings */
	struct location_row *rows;
	size_t row_capacity;
	struct handle_index index; /* key → row + 1 */
	struct image *images;	   /* by key */
	uint32_t next_serial;
	uint64_t next_location_id, next_mapping_id;
	struct symbol_files *files;
	struct elf_symbols *vdso;
	bool vdso_tried;
	struct kernel_names *kernel; /* NULL: not wanted */
	struct frame_mapping kernel_mapping;
	struct symbolizer_stats stats;
	struct go_frame frames[FRAMES_MAX];
};

/* Makes the location of a key; `image` NULL unknown. NULL over a cap or out of memory. */
struct location *location_make(struct symbolizer *s, struct image *image,
			       const struct location_key *key);
struct location *location_make_state(struct symbolizer *s, uint32_t name);

#endif
