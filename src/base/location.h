/* SPDX-License-Identifier: Apache-2.0 */
/* What a program counter means: the plain value that symbolize hands to profile. */
#ifndef BASE_LOCATION_H
#define BASE_LOCATION_H

#include <stdint.h>

/* A state is none of the program's own frames: what a goroutine waits for, "[chan receive]". */
enum frame_kind { FRAME_GO, FRAME_NATIVE, FRAME_KERNEL, FRAME_STATE };

/* One function at one line; strings are lent by the location's owner and already clean. */
struct frame {
	const char *function; /* full symbol, as runtime/pprof prints it; "" unknown */
	const char *file;     /* "" unknown */
	uint32_t line;	      /* 0 unknown */
	uint32_t start_line;  /* 0 unknown */
};

/* The mapped file a location lies in. */
struct frame_mapping {
	uint64_t id; /* unique and never 0 within one agent run: a cache key */
	uint64_t memory_start;
	uint64_t memory_limit; /* > memory_start, or both 0 */
	uint64_t file_offset;
	const char *file;	  /* path as the target sees it, "[kernel]", "[vdso]" */
	const char *build_id_go;  /* "" unknown */
	const char *build_id_gnu; /* hex, "" unknown */
};

/* A program counter with its inlined frames, innermost first. Unchanged for its owner's life. */
struct location {
	uint64_t id;	  /* unique and never 0 within one agent run: a cache key */
	uint64_t address; /* absolute in the process; call sites: return address − 1 */
	const struct frame_mapping *mapping; /* NULL unknown */
	enum frame_kind kind;
	uint32_t frame_count; /* 0: nothing known beyond mapping and address */
	struct frame frames[];
};

#endif
