/* SPDX-License-Identifier: Apache-2.0 */
/* Whether string_clean would leave a text as it is. */
#ifndef BASE_STRING_CLEAN_H
#define BASE_STRING_CLEAN_H

#include <stdbool.h>
#include <stddef.h>

bool string_is_clean(const char *text, size_t size);

#endif
