/* SPDX-License-Identifier: Apache-2.0 */
/* What the checkers of pclntab share: an executable's table, and lines of tab-separated fields. */
#ifndef TESTS_E2E_TRUTH_LINES_H
#define TESTS_E2E_TRUTH_LINES_H

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "gobinary/block_cache.h"
#include "gobinary/elf_image.h"
#include "gobinary/moduledata.h"
#include "gobinary/pclntab.h"

#define TRUTH_CACHE_BYTES ((size_t)2 << 20)

struct truth_table {
	struct block_cache *cache;
	struct elf_image *image;
	struct pclntab *table;
};

/* Fields of the line in hand, after its letter. */
struct truth_fields {
	char **fields;
	size_t count, capacity;
};

static inline double truth_now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static inline int truth_table_open(struct truth_table *t, const char *path)
{
	struct moduledata module;
	uint64_t address;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	int err = fd < 0 ? -errno : block_cache_open(TRUTH_CACHE_BYTES, &t->cache);

	if (!err)
		err = elf_image_open(fd, t->cache, &t->image);
	if (!err)
		err = pclntab_find(t->image, &address);
	if (!err)
		err = moduledata_find(t->image, address, &module);
	if (!err)
		err = pclntab_open(t->image, address, &module, &t->table);
	if (!err)
		elf_image_settle(t->image);
	return err;
}

static inline void truth_table_close(struct truth_table *t)
{
	pclntab_close(t->table);
	elf_image_close(t->image);
	block_cache_close(t->cache);
}

static inline int truth_split(struct truth_fields *f, char *line)
{
	line[strcspn(line, "\n")] = '\0';
	f->count = 0;
	for (char *field = strchr(line, '\t'); field; field = strchr(field, '\t')) {
		*field++ = '\0';
		if (f->count == f->capacity) {
			size_t capacity = f->capacity ? 2 * f->capacity : 64;
			char **fields = realloc(f->fields, capacity * sizeof(*fields));

			if (!fields)
				return -ENOMEM;
			f->fields = fields;
			f->capacity = capacity;
		}
		f->fields[f->count++] = field;
	}
	return 0;
}

static inline uint64_t truth_hex(const struct truth_fields *f, size_t field)
{
	return field < f->count ? strtoull(f->fields[field], NULL, 16) : 0;
}

static inline int64_t truth_number(const struct truth_fields *f, size_t field)
{
	return field < f->count ? strtoll(f->fields[field], NULL, 10) : 0;
}

/* What the line B's address of main.main is moved by from the file's. */
static inline int truth_bias(const struct truth_table *t, const struct truth_fields *line,
			     uint64_t *bias)
{
	struct go_function f;
	int err = pclntab_find_name(t->table, "main.main", &f);

	if (!err)
		*bias = truth_hex(line, 0) - f.entry;
	return err;
}

#endif
