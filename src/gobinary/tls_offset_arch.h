/* SPDX-License-Identifier: Apache-2.0 */
/* How one architecture's code reads g from thread-local storage. */
#ifndef GOBINARY_TLS_OFFSET_ARCH_H
#define GOBINARY_TLS_OFFSET_ARCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "gobinary/elf_image.h"
#include "gobinary/go_functions.h"

/* What was added to the thread pointer. */
struct tls_operand {
	bool in_memory; /* `address` holds the offset: an entry of the GOT */
	int64_t offset; /* else the offset itself */
	uint64_t address;
};

extern const uint16_t tls_arch_machine;
extern const enum go_function_id tls_arch_function; /* the function to decode */
extern const uint32_t tls_arch_relocation; /* …_TPOFF64: fills such an entry at load time */

/* `code` lies at `address`. -ENOENT. */
int tls_arch_decode(const uint8_t *code, size_t size, uint64_t address, struct tls_operand *out);
/* Of the executable's own TLS block, from the thread pointer. */
int64_t tls_arch_block_offset(struct elf_tls tls);

#endif
