/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Go's program-counter tables: function, line, inlined calls and stack size of any address, Go
 * 1.15 and newer, stripped or not. Opening goes through the functions once and keeps every 64th
 * entry; names, lines and stack sizes are decoded when asked for.
 */
#ifndef GOBINARY_PCLNTAB_H
#define GOBINARY_PCLNTAB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct elf_image;
struct moduledata;
struct pclntab;

enum go_function_flags {
	GO_TOP_FRAME = 1 << 0, /* outermost frame of a stack: goexit, mstart, rt0_go … */
	GO_SP_WRITE = 1 << 1,  /* writes SP freely: unwinding stops here */
	GO_ASSEMBLY = 1 << 2,
	GO_WRAPPER = 1 << 3, /* compiler-made wrapper: not shown */
};

enum pointer_slot {
	POINTER_SLOT_UNKNOWN, /* the tables say nothing of this word */
	POINTER_SLOT_DEAD,    /* no pointer, or one that is not used any more */
	POINTER_SLOT_LIVE,
};

struct go_function {
	uint64_t entry; /* virtual addresses of the file */
	uint64_t end;
	uint32_t flags;
	uint32_t start_line; /* 0 unknown */
	uint64_t handle;     /* for pclntab_get_name and the like */
};

/* One frame of an address; lent strings are the caller's buffers. */
struct go_frame {
	char function[512]; /* full symbol; cut at the size */
	char file[512];
	uint32_t line;
	uint32_t start_line;
	bool wrapper;
};

/* Finds the table by section, else by scanning PT_LOADs. -ENOENT no Go table, -EINVAL, -ENOMEM. */
int pclntab_find(struct elf_image *image, uint64_t *address);
/* `image` is lent. `module` gives text start and gofunc; see moduledata.h. */
int pclntab_open(struct elf_image *image, uint64_t address, const struct moduledata *module,
		 struct pclntab **out);
void pclntab_close(struct pclntab *t);

/* Look-ups read relocated words (a PIE up to Go 1.17): the image is not to be settled. */
bool pclntab_needs_relocations(const struct pclntab *t);
/* The function an address lies in. -ENOENT outside Go text. */
int pclntab_find_function(struct pclntab *t, uint64_t address, struct go_function *out);
/* Whether a function's first instruction lies there: what a func value points to. */
bool pclntab_begins_at(struct pclntab *t, uint64_t address);
/* A function by its exact symbol. -ENOENT. Walks the whole table: for load time only. */
int pclntab_find_name(struct pclntab *t, const char *name, struct go_function *out);
/*
 * Calls `each` for every function whose symbol is one of `names` (sorted or not), in one walk over
 * the table; `index` says which name. For load time.
 */
int pclntab_find_names(struct pclntab *t, const char *const *names, size_t count,
		       void (*each)(void *context, size_t index, const struct go_function *f),
		       void *context);
int pclntab_get_name(struct pclntab *t, const struct go_function *f, char *to, size_t size);
/*
 * Frames of an address, innermost inlined call first, at most `max`; returns their number or an
 * error. Wrappers are marked, not dropped.
 */
int pclntab_get_frames(struct pclntab *t, uint64_t address, struct go_frame *frames, size_t max);
/*
 * Starts the look-ups of one stack: together they may decode so much, so that a hostile table of
 * endless steps cannot hold up its reader. Without it only each by itself is bounded.
 */
void pclntab_begin(struct pclntab *t);
/*
 * Bytes between SP at `address` and the return address's slot (pcsp); for x86 the return address
 * lies at SP + delta. -ENOENT unknown, -EINVAL also when the stack's budget is used up.
 */
int pclntab_get_sp_delta(struct pclntab *t, uint64_t address, int32_t *delta);
/*
 * Whether a word of a frame holds a live pointer, as the garbage collector is told: the one
 * `below_cfa` bytes below what SP was in the caller before the call (x86: behind the return
 * address); 0 and less: an argument, or the slot one in a register is spilled to, which the
 * caller's map does not have. `pc` is the frame's return address (`is_return`; the answer is exact)
 * or where it was interrupted (the map of the last call that stands before it: a good guess;
 * UNKNOWN before the first one).
 *
 * UNKNOWN: outside the frame and its arguments, and assembly without maps. DEAD also: an
 * interface's first word (type or itab), and a variable whose function does not name it any more
 * while somebody holds a pointer to it (the collector finds it by that pointer).
 */
enum pointer_slot pclntab_get_pointer_slot(struct pclntab *t, uint64_t pc, bool is_return,
					   int64_t below_cfa);
/*
 * Whether a local variable that pointers may lead to (a stack object, as the garbage collector has
 * it) begins so many bytes below. Where in the function the frame is does not matter. Go 1.18.
 */
bool pclntab_has_stack_object(struct pclntab *t, uint64_t pc, bool is_return, int64_t below_cfa);

#endif
