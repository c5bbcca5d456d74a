/* SPDX-License-Identifier: Apache-2.0 */
/* Private to symbolize: the symbol tables in use, least recently used go first. */
#ifndef SYMBOLIZE_SYMBOL_FILES_H
#define SYMBOLIZE_SYMBOL_FILES_H

#include <stddef.h>
#include <stdint.h>

struct block_cache;
struct elf_symbols;
struct symbol_files;

/* Never a path: two containers may show different files under one. */
struct file_key {
	uint64_t device;
	uint64_t inode;
	uint64_t size;
	uint64_t changed_ns; /* mtime */
};

/* -EINVAL not a regular file, or what fstat says. */
int file_key_read(int fd, struct file_key *key);

int symbol_files_open(struct block_cache *cache, struct symbol_files **out);
void symbol_files_close(struct symbol_files *f);
/* Lent until the next symbol_files_add. NULL when it is not there (any more). */
struct elf_symbols *symbol_files_find(struct symbol_files *f, const struct file_key *key);
/* Reads a file's symbols and keeps them; see elf_symbols_open. Lent as above. */
int symbol_files_add(struct symbol_files *f, const struct file_key *key, int fd,
		     uint64_t skip_start, uint64_t skip_end, struct elf_symbols **out);

#endif
