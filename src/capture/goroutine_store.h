/* SPDX-License-Identifier: Apache-2.0 */
/* Keeps the kernel's store of goroutines clean: deletes those of process images that are gone. */
#ifndef CAPTURE_GOROUTINE_STORE_H
#define CAPTURE_GOROUTINE_STORE_H

#include <stddef.h>
#include <stdint.h>

struct capture_older_span;
struct capture_stored_goroutine;
struct capture_stored_span;
struct goroutine_store;

int goroutine_store_open(int map_fd, struct goroutine_store **out);
void goroutine_store_close(struct goroutine_store *s);
/* -ENOMEM, -ENOSPC. */
int goroutine_store_add(struct goroutine_store *s, uint32_t generation);
void goroutine_store_forget(struct goroutine_store *s, uint32_t generation);
/* See capture_add_older. */
int goroutine_store_add_older(struct goroutine_store *s, uint32_t generation, uint64_t g,
			      uint64_t goid, const struct capture_older_span *spans, size_t count);
/* See capture_push_older. */
int goroutine_store_push_older(struct goroutine_store *s, uint32_t generation, uint64_t g,
			       uint64_t goid, const struct capture_older_span *span);
/* See capture_each_goroutine and capture_forget_goroutine. */
int goroutine_store_each(struct goroutine_store *s,
			 void (*each)(void *context,
				      const struct capture_stored_goroutine *goroutine),
			 void *context);
void goroutine_store_remove(struct goroutine_store *s,
			    const struct capture_stored_goroutine *goroutine);
/* See capture_each_span. */
int goroutine_store_each_span(struct goroutine_store *s,
			      void (*each)(void *context, const struct capture_stored_span *span),
			      void *context);
/* Deletes the entries of one generation, which stays known. */
void goroutine_store_clear(struct goroutine_store *s, uint32_t generation);
/* Deletes entries of forgotten generations; returns at once when none was forgotten. */
void goroutine_store_sweep(struct goroutine_store *s);

#endif
