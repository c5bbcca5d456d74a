/* SPDX-License-Identifier: Apache-2.0 */
/* Bounded pread of foreign files: 8 KiB blocks, least recently used go first, never mmap. */
#ifndef GOBINARY_BLOCK_CACHE_H
#define GOBINARY_BLOCK_CACHE_H

#include <stddef.h>
#include <stdint.h>

struct block_cache;

/* One cache serves many files; not thread-safe. Errors: -ENOMEM. */
int block_cache_open(size_t cap_bytes, struct block_cache **out);
void block_cache_close(struct block_cache *c);
/*
 * Reads exactly `size` bytes of `fd` at `offset`. `file_id` names the file in the cache.
 * Errors: -ERANGE past the end, or what pread says. block_cache_forget drops a file's blocks.
 */
int block_cache_read(struct block_cache *c, int fd, uint64_t file_id, uint64_t offset, void *to,
		     size_t size);
void block_cache_forget(struct block_cache *c, uint64_t file_id);
size_t block_cache_bytes(const struct block_cache *c);

#endif
