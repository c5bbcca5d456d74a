/* SPDX-License-Identifier: Apache-2.0 */
/* process: one known process: its mappings, identity and memory. */
#ifndef PROCESS_PROCESS_H
#define PROCESS_PROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct process;

struct process_mapping {
	uint64_t start;
	uint64_t limit;
	uint64_t file_offset;
	uint64_t device; /* makedev(major, minor) as maps prints it */
	uint64_t inode;
	bool executable;
	const char *path; /* as maps prints it, cleaned; "" anonymous; "[vdso]" */
};

/* Opens /proc/PID by descriptor, so that a reused pid is never taken for it. -ESRCH, -EACCES … */
int process_open(pid_t pid, struct process **out);
void process_close(struct process *p);

pid_t process_get_pid(const struct process *p);
const char *process_get_executable(
	const struct process *p); /* target of exe, cleaned; "" unknown */
/* Of an executable's path without " (deleted)", the kernel's mark of a file that was replaced. */
size_t process_path_length(const char *path);
/* The same path, whether or not its file was replaced between one reading and the other. */
bool process_is_same_path(const char *a, const char *b);
/* Descriptor of /proc/PID/exe, opened read-only for the caller to close. Regular files only. */
int process_open_executable(const struct process *p);
/* User and system time of all its threads, ns, in steps of a clock tick (10 ms); 0 unknown. */
uint64_t process_get_cpu_ns(const struct process *p);
/* True while the same process (pid and start time) still runs. */
bool process_is_alive(const struct process *p);

/* Reads /proc/PID/maps anew. At most 65,536 mappings are kept, executable ones first. */
int process_read_mappings(struct process *p);
/* Lent until the next process_read_mappings. NULL unknown. */
const struct process_mapping *process_find_mapping(const struct process *p, uint64_t address);
size_t process_mapping_count(const struct process *p);
const struct process_mapping *process_get_mapping(const struct process *p, size_t index);
/* Descriptor of a mapping's file, opened read-only for the caller to close, by way of the target's
 * map_files, else of its root directory. Regular files only. -ENOENT no file. */
int process_open_mapping(const struct process *p, const struct process_mapping *m);
/* Load bias of the main executable: absolute address − virtual address of the file.
 * `first_segment_address` is p_vaddr of its first PT_LOAD. -ENOENT. */
int process_get_load_bias(const struct process *p, uint64_t first_segment_address, uint64_t *bias);

/* Bounded read of the process's memory (process_vm_readv). -EFAULT, -ESRCH, -EPERM. */
int process_read_memory(const struct process *p, uint64_t address, void *to, size_t size);

#endif
