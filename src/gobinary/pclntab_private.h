/* SPDX-License-Identifier: Apache-2.0 */
/* The open table and its readers, shared by the pclntab_*.c files. */
#ifndef GOBINARY_PCLNTAB_PRIVATE_H
#define GOBINARY_PCLNTAB_PRIVATE_H

#include "gobinary/elf_image.h"
#include "gobinary/pclntab.h"

/* By magic number; the first Go version of each. */
enum pclntab_format {
	PCLNTAB_GO_1_2,	 /* up to 1.15 */
	PCLNTAB_GO_1_16, /* and 1.17 */
	PCLNTAB_GO_1_18, /* and 1.19 */
	PCLNTAB_GO_1_20,
};

#define PCLNTAB_MAX_FUNCTIONS ((uint64_t)4 << 20)
#define PCLNTAB_ANCHOR_EVERY  64
/* Per look-up. Generated code with 100 000 lines in one function has pc tables of 300 KB. */
#define PCLNTAB_DECODE_BYTES ((uint64_t)16 << 20)
/* For the look-ups of one stack; 512 frames of a real table take 0.25 MB. */
#define PCLNTAB_STACK_BYTES ((uint64_t)2 << 20)

/* The header's fields as virtual addresses; regions that a format does not have are `address`. */
struct pclntab_header {
	enum pclntab_format format;
	uint8_t quantum; /* program counters are multiples of it */
	uint64_t function_count;
	uint64_t names, compilation_units, files, pc_tables, functions, function_table;
	uint64_t limit; /* end of the segment's bytes in the file */
};

/* -EINVAL when there is no plausible header at that address. */
int pclntab_read_header(struct elf_image *image, uint64_t address, struct pclntab_header *out);

struct pclntab {
	struct elf_image *image;
	uint64_t address;
	struct pclntab_header header;
	uint64_t text_start;
	uint64_t gofunc;	     /* base of funcdata from 1.18; 0 unknown: no inlined frames */
	bool relocated;		     /* PIE up to 1.17: pointers in the table need relocations */
	bool has_flags;		     /* 1.17 and newer */
	uint8_t wrapper_id;	     /* the largest funcID in the table */
	uint32_t *anchors;	     /* entry of every 64th function, relative to text_start */
	uint32_t anchor_count;	     /* the last one is the end of text */
	uint64_t budget_bytes;	     /* what decoding may still load within one call from outside */
	uint64_t stack_budget_bytes; /* the same from one pclntab_begin to the next */
};

/* One line of the function table, relative to text_start and to header.functions. */
struct pclntab_entry {
	uint32_t entry, function;
};

/* runtime._func, without what nobody needs. */
struct pclntab_function {
	int32_t name;
	int32_t args; /* bytes of arguments, results and their spill slots; INT32_MIN unknown */
	uint32_t pcsp, pcfile, pcln;
	uint32_t pcdata_count;
	uint32_t compilation_unit;
	uint32_t start_line;
	uint8_t id, flags, funcdata_count;
	uint32_t size; /* of the fixed part, which pcdata follows */
};

/* Reads entries [first, first + count); the one past the last function has only `entry`. */
int pclntab_read_entries(struct pclntab *t, uint64_t first, size_t count,
			 struct pclntab_entry *entries);
int pclntab_read_function(struct pclntab *t, uint64_t address, struct pclntab_function *out);
uint32_t pclntab_flags(const struct pclntab *t, const struct pclntab_function *f);
/*
 * What stands behind the fixed part of the function at `handle`: its pc tables by PCDATA_ number
 * (0 none), and the addresses of its tables by FUNCDATA_ number. -ENOENT no such one.
 */
int pclntab_read_pcdata(struct pclntab *t, uint64_t handle, const struct pclntab_function *f,
			uint32_t number, uint32_t *table);
int pclntab_read_funcdata(struct pclntab *t, uint64_t handle, const struct pclntab_function *f,
			  uint32_t number, uint64_t *address);
/* A NUL-terminated string of the file; 1 when it was cut at `size`. */
int pclntab_read_string(struct pclntab *t, uint64_t address, char *to, size_t size);
/*
 * The symbol at an offset of the name table. One that does not fit loses its type arguments first
 * (as Go prints it in a traceback: "F[...]"), so that the method's name behind them stays.
 */
int pclntab_read_name(struct pclntab *t, uint32_t offset, char *to, size_t size);

/*
 * A forward reader with a buffer of the caller's. `budget_bytes` bounds what a hostile table can
 * make it load.
 */
struct pclntab_window {
	struct elf_image *image;
	uint64_t limit;
	uint64_t budget_bytes;
	uint8_t *data;
	size_t capacity;
	uint64_t start;
	size_t size;
};

/* `size` bytes at `address`, valid until the next call; NULL: past the limit or the budget. */
const uint8_t *pclntab_window_get(struct pclntab_window *w, uint64_t address, size_t size);

/* Calls `each` for every function, until it returns non-0, which is then the result. */
int pclntab_walk(struct pclntab *t,
		 int (*each)(void *context, uint64_t entry, uint64_t end, uint64_t handle,
			     const struct pclntab_function *f),
		 void *context);

/*
 * The value a pc table has at `address`. -ENOENT: no such table, or the address is behind it;
 * -EINVAL. What it loads counts against budget_bytes.
 */
int pclntab_pc_value(struct pclntab *t, uint32_t table, uint64_t entry, uint64_t address,
		     int32_t *value);

/* Sets budget_bytes to what is left for one look-up of a stack; `granted` goes to settle. */
uint64_t pclntab_grant_budget(struct pclntab *t);
void pclntab_settle_budget(struct pclntab *t, uint64_t granted);

#endif
