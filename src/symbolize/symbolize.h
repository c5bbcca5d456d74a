/* SPDX-License-Identifier: Apache-2.0 */
/* symbolize: program counters → frames (Go, ELF symbols, kernel), cached per address. */
#ifndef SYMBOLIZE_SYMBOLIZE_H
#define SYMBOLIZE_SYMBOLIZE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/location.h"

struct block_cache;
struct gobinary;
struct process;
struct symbolizer;

struct symbolizer_config {
	struct block_cache *cache; /* lent */
	size_t locations_max;	   /* cap of the cache; at the cap it starts anew at a safe point */
	bool kernel;		   /* read /proc/kallsyms */
};

struct symbolizer_stats {
	uint64_t locations;
	uint64_t lookups;
	uint64_t cache_hits;
	uint64_t unknown;	  /* addresses without a name */
	bool kernel_names_hidden; /* kptr_restrict: kallsyms unreadable or zeroed */
};

int symbolizer_open(const struct symbolizer_config *config, struct symbolizer **out);
void symbolizer_close(struct symbolizer *s);
/*
 * The executable of one process image; `binary` NULL when it is not Go. `key` names the image
 * (process generation). Both are lent until symbolizer_forget(key).
 */
int symbolizer_add_image(struct symbolizer *s, uint32_t key, struct process *process,
			 struct gobinary *binary, uint64_t bias);
void symbolizer_forget(struct symbolizer *s, uint32_t key);
/*
 * Location of an address. `exact` false: a return address, looked up at address − 1. Lent until
 * symbolizer_reset. NULL only out of memory and at twice the cap. Wrapper frames are dropped
 * as runtime/pprof drops them; a location all of whose frames were dropped has
 * frame_count 0 and kind FRAME_GO, and callers leave it out.
 */
const struct location *symbolizer_find(struct symbolizer *s, uint32_t key, uint64_t address,
				       bool exact, bool kernel);
/* One for what a goroutine does instead of running, such as "[chan receive]"; lent likewise. */
const struct location *symbolizer_find_state(struct symbolizer *s, const char *name);
/* True when the cap is reached; the caller drops all references and calls symbolizer_reset. */
bool symbolizer_is_full(const struct symbolizer *s);
void symbolizer_reset(struct symbolizer *s);
void symbolizer_get_stats(const struct symbolizer *s, struct symbolizer_stats *out);

#endif
