/* SPDX-License-Identifier: Apache-2.0 */
/* Private to symbolize: the symbols of the code that the kernel maps into every process. */
#ifndef SYMBOLIZE_VDSO_H
#define SYMBOLIZE_VDSO_H

struct block_cache;
struct elf_symbols;

/*
 * Copied from our own memory: the kernel gives all 64-bit processes the same, and a target cannot
 * have changed ours. -ENOENT none, or as elf_symbols_open.
 */
int vdso_open_symbols(struct block_cache *cache, struct elf_symbols **out);

#endif
