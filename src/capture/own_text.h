/* SPDX-License-Identifier: Apache-2.0 */
/* Probes on functions of this very program. */
#ifndef CAPTURE_OWN_TEXT_H
#define CAPTURE_OWN_TEXT_H

#include <stdint.h>

/* Where an address of our own text lies in our file, as a uprobe wants it. -ENOENT. */
int own_text_offset(const void *address, uint64_t *offset);

#endif
