/* SPDX-License-Identifier: Apache-2.0 */
/* Executables by file identity, shared by all processes that run them. Thread-safe. */
#ifndef AGENT_BINARY_STORE_H
#define AGENT_BINARY_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct binary_store;
struct block_cache;
struct gobinary;

/*
 * One executable file. `references` and `last_used` change under the store's lock, by whichever
 * thread asks; the fields between them are touched by the loop's thread alone.
 */
struct binary {
	uint64_t device, inode, size_bytes;
	int64_t modified_ns, changed_ns;
	struct gobinary *go; /* NULL: not a Go program */
	uint64_t first_segment_address;
	size_t references;
	size_t profiled; /* processes that are profiled with the probes below */
	bool announced;	 /* a person was told of it */
	/* Attached for all processes of the file, while one of them is profiled: a file that nobody
	 * runs may be overwritten in place, and must not carry a probe then. −1: none. */
	int start_probe, newproc_probe;
	bool probed_apart;	 /* its processes have probes of their own instead */
	unsigned starts_skipped; /* start points that have shown not to tell of spans */
	uint64_t last_used;
};

int binary_store_open(size_t binaries_max, struct binary_store **out);
void binary_store_close(struct binary_store *s);
/*
 * The executable of an open descriptor, read when it is new, with a reference for the caller.
 * `cache` serves this reading alone: look-ups need gobinary_set_cache by the thread that makes
 * them, and NULL again before the last reference is put, for another thread may free it.
 * -ENOSPC when the store is full of executables in use, or an error of reading.
 */
int binary_store_get(struct binary_store *s, int fd, struct block_cache *cache,
		     struct binary **out);
void binary_store_put(struct binary_store *s, struct binary *b);
/* Whether a descriptor means this very file. chmod and link do not make it another. */
bool binary_is_file(const struct binary *b, int fd);

#endif
