/* SPDX-License-Identifier: Apache-2.0 */
/* What the kernel and our rights must offer, checked before anything is loaded. */
#ifndef CAPTURE_PREFLIGHT_H
#define CAPTURE_PREFLIGHT_H

#include <stddef.h>

/* 0, or a negative errno with one line in `why` that names what is missing and the remedy. */
int preflight_check(char *why, size_t why_size);
/* Turns the error of a failed load or attach into such a line. Returns `error`. */
int preflight_explain(int error, const char *what, char *why, size_t why_size);

#endif
