/* SPDX-License-Identifier: Apache-2.0 */
/* Private to symbolize: the kernel's functions, from the text of /proc/kallsyms. */
#ifndef SYMBOLIZE_KALLSYMS_H
#define SYMBOLIZE_KALLSYMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct kallsyms;

/* Reads the descriptor to its end. -ENOMEM, or what read says. */
int kallsyms_read(int fd, struct kallsyms **out);
int kallsyms_parse(const void *text, size_t size, struct kallsyms **out);
void kallsyms_close(struct kallsyms *k);
/* True when the kernel shows names, but all addresses as 0 (kptr_restrict, no CAP_SYSLOG). */
bool kallsyms_is_hidden(const struct kallsyms *k);
size_t kallsyms_count(const struct kallsyms *k);     /* addresses, with and without a name */
uint64_t kallsyms_dropped(const struct kallsyms *k); /* functions without a name, over a cap */
size_t kallsyms_bytes(const struct kallsyms *k);
/* The function an address lies in, lent; NULL unknown, also when its name was over a cap. */
const char *kallsyms_find(const struct kallsyms *k, uint64_t address, uint64_t *start);

#endif
