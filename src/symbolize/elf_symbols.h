/* SPDX-License-Identifier: Apache-2.0 */
/* Private to symbolize: the functions of an ELF file's symbol table. */
#ifndef SYMBOLIZE_ELF_SYMBOLS_H
#define SYMBOLIZE_ELF_SYMBOLS_H

#include <stddef.h>
#include <stdint.h>

struct block_cache;
struct elf_symbols;

/*
 * Reads .symtab, else .dynsym; a file without either gives an empty table. Functions within
 * [skip_start, skip_end) are left out: Go text has better names. Duplicates `fd`; `cache` is lent.
 * -ENOEXEC, -EINVAL, -ENOMEM.
 */
int elf_symbols_open(int fd, struct block_cache *cache, uint64_t skip_start, uint64_t skip_end,
		     struct elf_symbols **out);
void elf_symbols_close(struct elf_symbols *s);
size_t elf_symbols_bytes(const struct elf_symbols *s);
/* Hex of the GNU build id, "" none. */
const char *elf_symbols_get_build_id(const struct elf_symbols *s);
/*
 * Name of the function that covers a file offset, cut at `size`. Symbols without a size cover
 * nothing. -ENOENT unknown.
 */
int elf_symbols_find(struct elf_symbols *s, uint64_t file_offset, char *name, size_t size);

#endif
