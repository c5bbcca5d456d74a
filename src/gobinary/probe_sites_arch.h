/* SPDX-License-Identifier: Apache-2.0 */
/* Instructions of one architecture that a uprobe may sit on without a single step. */
#ifndef GOBINARY_PROBE_SITES_ARCH_H
#define GOBINARY_PROBE_SITES_ARCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* e_machine of the files these decoders are for. */
extern const uint16_t probe_arch_machine;

/*
 * An emulated instruction of the prologue at which all argument registers and SP are still those
 * of entry: the conditional jump to morestack (`*on_branch`), or, in a function without a stack
 * check, x86-64's `push rbp`. -ENOENT: not as the register ABI's compilers write it (Go 1.17 on
 * x86-64, 1.18 on arm64).
 */
int probe_arch_find_entry(const uint8_t *code, size_t size, size_t *offset, bool *on_branch);
/*
 * The one direct call to `target` in the function that starts at `address`. -ENOENT none or more
 * than one, -EINVAL not decodable.
 */
int probe_arch_find_call(const uint8_t *code, size_t size, uint64_t address, uint64_t target,
			 size_t *offset);
/* The one return of the function. -ENOENT none or more than one, -EINVAL not decodable. */
int probe_arch_find_return(const uint8_t *code, size_t size, size_t *offset);

#endif
