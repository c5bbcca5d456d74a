/* SPDX-License-Identifier: Apache-2.0 */
/* A whole ELF file: its symbol table. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "gobinary/block_cache.h"
#include "symbolize/elf_symbols.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void look_up(struct elf_symbols *s, size_t size)
{
	char name[64];

	for (uint64_t offset = 0; offset < size + 64; offset += size / 64 + 1) {
		if (elf_symbols_find(s, offset, name, sizeof(name)))
			continue;
		if (!name[0] || !memchr(name, 0, sizeof(name)))
			abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int fd = memfd_create("fuzz", MFD_CLOEXEC);
	struct block_cache *cache;
	struct elf_symbols *s;

	if (fd < 0 || write(fd, data, size) != (ssize_t)size)
		abort();
	if (block_cache_open(1 << 18, &cache))
		abort();
	if (!elf_symbols_open(fd, cache, 0x1000, 0x2000, &s)) {
		look_up(s, size);
		elf_symbols_close(s);
	}
	block_cache_close(cache);
	close(fd);
	return 0;
}
