/* SPDX-License-Identifier: Apache-2.0 */
/* Private to symbolize: the running kernel's function names, read while others work. */
#ifndef SYMBOLIZE_KERNEL_NAMES_H
#define SYMBOLIZE_KERNEL_NAMES_H

#include <stdbool.h>
#include <stdint.h>

struct kernel_names;

/* Begins to read on a thread of its own. -ENOMEM, or why there is no thread. */
int kernel_names_open(struct kernel_names **out);
void kernel_names_close(struct kernel_names *n);
/* Waits for the names at the first call. The function's name, lent; NULL unknown. */
const char *kernel_names_find(struct kernel_names *n, uint64_t address);
/* True when the kernel does not tell its names; waits, too. */
bool kernel_names_are_hidden(struct kernel_names *n);

#endif
