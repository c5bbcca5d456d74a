/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A short list under a lock; unused executables are kept until their place is wanted or their file
 * has been deleted.
 */
#include "agent/binary_store.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "gobinary/elf_image.h"
#include "gobinary/gobinary.h"

struct binary_store {
	pthread_mutex_t lock;
	struct binary **binaries;
	size_t count, max;
	uint64_t uses;
};

int binary_store_open(size_t binaries_max, struct binary_store **out)
{
	struct binary_store *s = calloc(1, sizeof(*s));

	*out = NULL;
	if (!s)
		return -ENOMEM;
	s->binaries = calloc(binaries_max, sizeof(*s->binaries));
	if (!s->binaries) {
		free(s);
		return -ENOMEM;
	}
	s->max = binaries_max;
	pthread_mutex_init(&s->lock, NULL);
	*out = s;
	return 0;
}

static void binary_free(struct binary *b)
{
	if (!b)
		return;
	gobinary_close(b->go);
	free(b);
}

void binary_store_close(struct binary_store *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < s->count; i++)
		binary_free(s->binaries[i]);
	free(s->binaries);
	pthread_mutex_destroy(&s->lock);
	free(s);
}

static int64_t nanoseconds(struct timespec t)
{
	return t.tv_sec * 1000000000ll + t.tv_nsec;
}

static bool is_file(const struct binary *b, const struct stat *status)
{
	return b->device == status->st_dev && b->inode == status->st_ino &&
	       b->size_bytes == (uint64_t)status->st_size &&
	       b->modified_ns == nanoseconds(status->st_mtim);
}

/* The same bytes too: a time of modification can be set by who overwrites a file. */
static bool is_unchanged(const struct binary *b, const struct stat *status)
{
	return is_file(b, status) && b->changed_ns == nanoseconds(status->st_ctim);
}

bool binary_is_file(const struct binary *b, int fd)
{
	struct stat status;

	return !fstat(fd, &status) && is_file(b, &status);
}

/* Reads a new executable; not being a Go program is an answer, not an error. */
static int read_binary(int fd, const struct stat *status, struct block_cache *cache,
		       struct binary **out)
{
	struct binary *b = calloc(1, sizeof(*b));
	struct elf_image *image;
	int error;

	if (!b)
		return -ENOMEM;
	*b = (struct binary){
		.device = status->st_dev,
		.inode = status->st_ino,
		.size_bytes = status->st_size,
		.modified_ns = nanoseconds(status->st_mtim),
		.changed_ns = nanoseconds(status->st_ctim),
		.start_probe = -1,
		.newproc_probe = -1,
	};
	error = elf_image_open(fd, cache, &image);
	if (!error) {
		if (elf_image_segment_count(image))
			b->first_segment_address = elf_image_get_segment(image, 0)->address;
		elf_image_close(image);
		error = gobinary_open(fd, cache, &b->go);
		if (error == -ENOENT)
			error = 0;
	}
	if (b->go)
		gobinary_set_cache(b->go, NULL);
	if (error) {
		free(b);
		return error;
	}
	*out = b;
	return 0;
}

/* A place in the list: a free one, else that of the unused executable used longest ago. */
static int make_place(struct binary_store *s, size_t *place)
{
	bool found = false;

	*place = 0;
	if (s->count < s->max) {
		*place = s->count++;
		return 0;
	}
	for (size_t i = 0; i < s->count; i++) {
		if (s->binaries[i]->references)
			continue;
		if (!found || s->binaries[i]->last_used < s->binaries[*place]->last_used)
			*place = i;
		found = true;
	}
	if (!found)
		return -ENOSPC;
	binary_free(s->binaries[*place]);
	return 0;
}

/* With the lock held; takes a reference. */
static struct binary *find(struct binary_store *s, const struct stat *status)
{
	struct binary *found = NULL;

	for (size_t i = 0; i < s->count && !found; i++)
		if (is_unchanged(s->binaries[i], status))
			found = s->binaries[i];
	if (found) {
		found->references++;
		found->last_used = ++s->uses;
	}
	return found;
}

/* Puts what was read into the list, unless another thread was faster. */
static int insert(struct binary_store *s, struct binary *b, const struct stat *status,
		  struct binary **out)
{
	size_t place;
	int error = 0;

	pthread_mutex_lock(&s->lock);
	*out = find(s, status);
	if (!*out)
		error = make_place(s, &place);
	if (!*out && !error) {
		b->references = 1;
		b->last_used = ++s->uses;
		*out = s->binaries[place] = b;
	}
	pthread_mutex_unlock(&s->lock);
	if (*out != b)
		binary_free(b);
	return error;
}

int binary_store_get(struct binary_store *s, int fd, struct block_cache *cache, struct binary **out)
{
	struct stat status;
	struct binary *b;
	int error;

	*out = NULL;
	if (fstat(fd, &status))
		return -errno;
	pthread_mutex_lock(&s->lock);
	*out = find(s, &status);
	pthread_mutex_unlock(&s->lock);
	if (*out)
		return 0;
	error = read_binary(fd, &status, cache, &b);
	return error ? error : insert(s, b, &status, out);
}

/* Nobody can run it again, and as long as it is open the disk keeps its bytes. */
static void take_out(struct binary_store *s, struct binary *b)
{
	size_t place = 0;

	while (s->binaries[place] != b)
		place++;
	s->binaries[place] = s->binaries[--s->count];
	binary_free(b);
}

void binary_store_put(struct binary_store *s, struct binary *b)
{
	if (!b)
		return;
	pthread_mutex_lock(&s->lock);
	if (!--b->references && b->go && gobinary_is_deleted(b->go))
		take_out(s, b);
	pthread_mutex_unlock(&s->lock);
}
