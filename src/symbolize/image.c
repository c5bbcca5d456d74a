/* SPDX-License-Identifier: Apache-2.0 */
/* See image.h. */
#include "symbolize/image.h"

#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/string_table.h"
#include "gobinary/gobinary.h"
#include "process/process.h"
#include "base/arena.h"
#include "symbolize/elf_symbols.h"

#define REREAD_NS 1000000000

bool image_holds_go_text(const struct image *image, uint64_t address)
{
	const struct gobinary_info *info;
	uint64_t in_file = address - image->bias;

	if (!image->binary)
		return false;
	info = gobinary_get_info(image->binary);
	return in_file >= info->text_start && in_file < info->text_end;
}

const struct process_mapping *image_find_process_mapping(struct image *image, uint64_t address)
{
	const struct process_mapping *found;
	uint64_t now;

	if (!image->process)
		return NULL;
	found = process_find_mapping(image->process, address);
	if (found)
		return found;
	now = clock_monotonic_ns();
	if (image->mappings_read_ns && now - image->mappings_read_ns < REREAD_NS)
		return NULL;
	image->mappings_read_ns = now;
	if (process_read_mappings(image->process))
		return NULL;
	return process_find_mapping(image->process, address);
}

static const char *intern(struct string_table *strings, const char *text)
{
	return string_table_get(strings, string_table_add(strings, text, strlen(text)));
}

struct elf_symbols *image_get_symbols(struct image *image, struct image_mapping *mapping,
				      const struct process_mapping *m, struct symbol_files *files)
{
	struct elf_symbols *symbols;
	uint64_t skip_start = 0, skip_end = 0;
	struct file_key key;
	int fd;

	if (!mapping->has_file)
		return NULL;
	symbols = symbol_files_find(files, &mapping->key);
	if (symbols)
		return symbols;
	if (mapping->is_main) {
		skip_start = gobinary_get_info(image->binary)->text_start;
		skip_end = gobinary_get_info(image->binary)->text_end;
	}
	fd = process_open_mapping(image->process, m);
	/* A failure is remembered: the file is not tried again before the next reset. */
	if (fd < 0 || file_key_read(fd, &key) || memcmp(&key, &mapping->key, sizeof(key)) ||
	    symbol_files_add(files, &key, fd, skip_start, skip_end, &symbols)) {
		mapping->has_file = false;
		symbols = NULL;
	}
	if (fd >= 0)
		close(fd);
	return symbols;
}

static void read_file_key(struct image *image, struct image_mapping *mapping,
			  const struct process_mapping *m)
{
	int fd = process_open_mapping(image->process, m);

	if (fd < 0)
		return;
	mapping->has_file = !file_key_read(fd, &mapping->key);
	close(fd);
}

static void set_build_ids(struct image *image, struct image_mapping *mapping,
			  const struct process_mapping *m, const struct image_stores *stores)
{
	const struct gobinary_info *info;
	struct elf_symbols *symbols;

	if (mapping->is_main) {
		info = gobinary_get_info(image->binary);
		mapping->frame.build_id_go = intern(stores->strings, info->build_id_go);
		mapping->frame.build_id_gnu = intern(stores->strings, info->build_id_gnu);
		return;
	}
	symbols = image_get_symbols(image, mapping, m, stores->files);
	if (symbols)
		mapping->frame.build_id_gnu =
			intern(stores->strings, elf_symbols_get_build_id(symbols));
}

static bool is_same(const struct image_mapping *mapping, const struct process_mapping *m)
{
	return mapping->frame.memory_start == m->start && mapping->frame.memory_limit == m->limit &&
	       mapping->frame.file_offset == m->file_offset && mapping->device == m->device &&
	       mapping->inode == m->inode;
}

struct image_mapping *image_find_mapping(struct image *image, const struct process_mapping *m,
					 const struct image_stores *stores)
{
	struct image_mapping *mapping;

	for (mapping = image->mappings; mapping; mapping = mapping->next)
		if (is_same(mapping, m))
			return mapping;
	mapping = arena_take(stores->arena, sizeof(*mapping));
	if (!mapping)
		return NULL;
	mapping->frame = (struct frame_mapping){
		.id = (*stores->next_mapping_id)++,
		.memory_start = m->start,
		.memory_limit = m->limit,
		.file_offset = m->file_offset,
		.file = intern(stores->strings, m->path),
		.build_id_go = "",
		.build_id_gnu = "",
	};
	mapping->device = m->device;
	mapping->inode = m->inode;
	mapping->is_main = image->binary && m->inode &&
			   process_is_same_path(m->path, process_get_executable(image->process));
	mapping->is_vdso = !strcmp(m->path, "[vdso]");
	read_file_key(image, mapping, m);
	set_build_ids(image, mapping, m, stores);
	mapping->next = image->mappings;
	image->mappings = mapping;
	return mapping;
}
