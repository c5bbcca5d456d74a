/* SPDX-License-Identifier: Apache-2.0 */
/* A short array of open tables; each holds a descriptor, so that a file may be renamed. */
#include "symbolize/symbol_files.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "symbolize/elf_symbols.h"

#define FILES_MAX	16
#define TABLE_BYTES_MAX (3 << 20) /* of all tables together; one alone may have 2.4 MB */

struct symbol_file {
	struct file_key key;
	struct elf_symbols *symbols;
	uint64_t last_use;
};

struct symbol_files {
	struct block_cache *cache;
	struct symbol_file files[FILES_MAX];
	size_t count;
	size_t bytes;
	uint64_t uses;
};

int file_key_read(int fd, struct file_key *key)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -EINVAL;
	*key = (struct file_key){
		.device = st.st_dev,
		.inode = st.st_ino,
		.size = (uint64_t)st.st_size,
		.changed_ns =
			(uint64_t)st.st_mtim.tv_sec * 1000000000 + (uint64_t)st.st_mtim.tv_nsec,
	};
	return 0;
}

int symbol_files_open(struct block_cache *cache, struct symbol_files **out)
{
	struct symbol_files *f = calloc(1, sizeof(*f));

	if (!f)
		return -ENOMEM;
	f->cache = cache;
	*out = f;
	return 0;
}

void symbol_files_close(struct symbol_files *f)
{
	if (!f)
		return;
	for (size_t i = 0; i < f->count; i++)
		elf_symbols_close(f->files[i].symbols);
	free(f);
}

struct elf_symbols *symbol_files_find(struct symbol_files *f, const struct file_key *key)
{
	for (size_t i = 0; i < f->count; i++) {
		if (memcmp(&f->files[i].key, key, sizeof(*key)))
			continue;
		f->files[i].last_use = ++f->uses;
		return f->files[i].symbols;
	}
	return NULL;
}

static void drop_oldest(struct symbol_files *f)
{
	size_t oldest = 0;

	for (size_t i = 1; i < f->count; i++)
		if (f->files[i].last_use < f->files[oldest].last_use)
			oldest = i;
	f->bytes -= elf_symbols_bytes(f->files[oldest].symbols);
	elf_symbols_close(f->files[oldest].symbols);
	f->files[oldest] = f->files[--f->count];
}

int symbol_files_add(struct symbol_files *f, const struct file_key *key, int fd,
		     uint64_t skip_start, uint64_t skip_end, struct elf_symbols **out)
{
	struct elf_symbols *symbols;
	size_t bytes;
	int err;

	err = elf_symbols_open(fd, f->cache, skip_start, skip_end, &symbols);
	if (err)
		return err;
	bytes = elf_symbols_bytes(symbols);
	while (f->count && (f->count == FILES_MAX || f->bytes + bytes > TABLE_BYTES_MAX))
		drop_oldest(f);
	f->files[f->count++] = (struct symbol_file){
		.key = *key,
		.symbols = symbols,
		.last_use = ++f->uses,
	};
	f->bytes += bytes;
	*out = symbols;
	return 0;
}
