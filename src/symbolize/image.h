/* SPDX-License-Identifier: Apache-2.0 */
/* Private to symbolize: one process image and the mappings that its addresses lie in. */
#ifndef SYMBOLIZE_IMAGE_H
#define SYMBOLIZE_IMAGE_H

#include <stdbool.h>
#include <stdint.h>

#include <uthash.h>

#include "base/location.h"
#include "symbolize/symbol_files.h"

struct arena;
struct gobinary;
struct gobinary_info;
struct process;
struct process_mapping;
struct string_table;

/* Lives in the arena, since locations lend it until the next reset. */
struct image_mapping {
	struct frame_mapping frame;
	struct image_mapping *next;
	uint64_t device, inode;
	struct file_key key;
	bool has_file; /* key is valid and the file could be opened as ELF */
	bool is_main;  /* of the Go executable itself */
	bool is_vdso;
};

struct image {
	uint32_t key;
	uint32_t serial; /* never used twice, so that the cache outlives the image */
	struct process *process;
	struct gobinary *binary;
	uint64_t bias;
	uint64_t mappings_read_ns;
	struct image_mapping *mappings;
	UT_hash_handle hh;
};

/* The Go executable's text as absolute addresses; false: not Go. */
bool image_holds_go_text(const struct image *image, uint64_t address);
/*
 * The process's mapping of an address. Where there is none, mappings are read anew, at most once a
 * second. NULL unknown.
 */
const struct process_mapping *image_find_process_mapping(struct image *image, uint64_t address);
/* What image_find_mapping needs of the symbolizer; all lent. */
struct image_stores {
	struct arena *arena;
	struct string_table *strings;
	struct symbol_files *files;
	uint64_t *next_mapping_id;
};
/* The image's own record of a mapping, made at first use. NULL out of memory. */
struct image_mapping *image_find_mapping(struct image *image, const struct process_mapping *m,
					 const struct image_stores *stores);
/* The symbols of the mapping's file, opened again where they were dropped; NULL none. Lent until
 * the next call. */
struct elf_symbols *image_get_symbols(struct image *image, struct image_mapping *mapping,
				      const struct process_mapping *m, struct symbol_files *files);

#endif
