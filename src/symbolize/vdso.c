/* SPDX-License-Identifier: Apache-2.0 */
/* See vdso.h. */
#include "symbolize/vdso.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "process/process.h"
#include "symbolize/elf_symbols.h"

#define VDSO_BYTES_MAX (64 << 10) /* real ones have 4 to 16 KiB */

/* The image as a file of its own, because the ELF reader reads files. */
static int copy_to_file(const struct process_mapping *m)
{
	uint64_t size = m->limit - m->start;
	int fd;

	if (size > VDSO_BYTES_MAX)
		return -E2BIG;
	fd = memfd_create("vdso", MFD_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (write(fd, (const void *)(uintptr_t)m->start, size) == (ssize_t)size)
		return fd;
	close(fd);
	return -EIO;
}

int vdso_open_symbols(struct block_cache *cache, struct elf_symbols **out)
{
	struct process *self;
	int fd = -ENOENT, err;

	err = process_open(getpid(), &self);
	if (err)
		return err;
	err = process_read_mappings(self);
	for (size_t i = 0; !err && i < process_mapping_count(self); i++) {
		const struct process_mapping *m = process_get_mapping(self, i);

		if (m->executable && !strcmp(m->path, "[vdso]"))
			fd = copy_to_file(m);
	}
	process_close(self);
	if (err || fd < 0)
		return err ? err : fd;
	err = elf_symbols_open(fd, cache, 0, 0, out);
	close(fd);
	return err;
}
