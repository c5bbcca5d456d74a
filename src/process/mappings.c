/* SPDX-License-Identifier: Apache-2.0 */
/* The mappings of a process: reading, finding, opening their files, the load bias. */
#include <errno.h>
#include <elf.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/bytes.h"
#include "process/process.h"
#include "process/process_private.h"

#define AUXV_BYTES_MAX 4096

int process_read_mappings(struct process *p)
{
	struct buffer text;
	struct maps maps;
	int err;

	buffer_open(&text, MAPS_TEXT_BYTES);
	err = process_read_file(p, "maps", &text);
	if (!err)
		err = maps_parse(text.data, text.size, &maps);
	buffer_close(&text);
	if (err)
		return err;
	maps_close(&p->maps);
	p->maps = maps;
	return 0;
}

const struct process_mapping *process_find_mapping(const struct process *p, uint64_t address)
{
	return maps_find(&p->maps, address);
}

size_t process_mapping_count(const struct process *p)
{
	return p->maps.count;
}

const struct process_mapping *process_get_mapping(const struct process *p, size_t index)
{
	return index < p->maps.count ? &p->maps.mappings[index] : NULL;
}

/* The file by its path, as the target's root directory shows it. */
static int open_in_root(const struct process *p, const char *path)
{
	struct open_how how = {
		.flags = O_PATH | O_CLOEXEC,
		.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS,
	};
	char link[64];
	int root, found, fd;

	if (path[0] != '/')
		return -ENOENT;
	root = openat(p->directory, "root", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (root < 0)
		return -errno;
	found = (int)syscall(SYS_openat2, root, path, &how, sizeof(how));
	if (found < 0) {
		fd = -errno;
	} else {
		snprintf(link, sizeof(link), "/proc/self/fd/%d", found);
		fd = process_open_regular(AT_FDCWD, link);
		close(found);
	}
	close(root);
	return fd;
}

int process_open_mapping(const struct process *p, const struct process_mapping *m)
{
	char name[64];
	int fd;

	if (!m->inode)
		return -ENOENT;
	/* Reaches deleted and overlaid files; wants CAP_SYS_ADMIN or CAP_CHECKPOINT_RESTORE. */
	snprintf(name, sizeof(name), "map_files/%llx-%llx", (unsigned long long)m->start,
		 (unsigned long long)m->limit);
	fd = process_open_regular(p->directory, name);
	if (fd >= 0 || fd == -EINVAL)
		return fd;
	return open_in_root(p, m->path);
}

/* Where the kernel put the program headers of the main executable; 0 unknown. */
static uint64_t read_phdr_address(const struct process *p)
{
	struct buffer text;
	struct bytes b;
	uint64_t address = 0;

	buffer_open(&text, AUXV_BYTES_MAX);
	if (!process_read_file(p, "auxv", &text)) {
		b = bytes_over(text.data, text.size);
		while (bytes_left(&b) >= 16) {
			uint64_t type = bytes_u64(&b), value = bytes_u64(&b);

			if (type == AT_PHDR)
				address = value;
		}
	}
	buffer_close(&text);
	return address;
}

/* The mapping of the executable's first bytes. A program may map its own file a second time. */
static const struct process_mapping *find_first_segment(const struct process *p)
{
	const struct process_mapping *found = maps_find(&p->maps, read_phdr_address(p));

	if (found && found->inode && !found->file_offset)
		return found;
	found = NULL;
	for (size_t i = 0; i < p->maps.count; i++) {
		const struct process_mapping *m = &p->maps.mappings[i];

		if (!m->inode || m->file_offset || !process_is_same_path(m->path, p->executable))
			continue;
		if (!found || m->start < found->start)
			found = m;
	}
	return found;
}

int process_get_load_bias(const struct process *p, uint64_t first_segment_address, uint64_t *bias)
{
	const struct process_mapping *m = find_first_segment(p);
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);

	if (!m)
		return -ENOENT;
	*bias = m->start - (first_segment_address & ~(page - 1));
	return 0;
}
