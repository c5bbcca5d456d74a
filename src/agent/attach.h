/* SPDX-License-Identifier: Apache-2.0 */
/* What the kernel side is told of one process, and the probes in its executable. */
#ifndef AGENT_ATTACH_H
#define AGENT_ATTACH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct capture;
struct gobinary_info;
struct target_process;

void attach_describe(const struct gobinary_info *info, uint64_t bias, uint32_t generation,
		     struct target_process *out);
/* Of a position-independent executable that is not mapped yet: offsets stay, addresses go. */
void attach_forget_addresses(struct target_process *description);
/* The best start point the executable has; false: none. */
bool attach_has_start(const struct gobinary_info *info);
/* Which of the start points an executable has is wanted. */
struct attach_choice {
	unsigned skip;	    /* so many of the best have shown that they do not tell of spans */
	bool recorded_only; /* one that is not hit by spans that are sampled out, if there is one */
};

/* -ENOENT no such site. `pid` −1: every process that runs the file at `path`. */
int attach_start(struct capture *c, const struct gobinary_info *info,
		 const struct attach_choice *choice, pid_t pid, const char *path, int *probe,
		 char *why, size_t why_size);
int attach_newproc(struct capture *c, const struct gobinary_info *info, pid_t pid, const char *path,
		   int *probe, char *why, size_t why_size);
/* How many start points it has. */
unsigned attach_count_starts(const struct gobinary_info *info);
const char *attach_start_words(const struct gobinary_info *info,
			       const struct attach_choice *choice);
/* One line for a person: versions, stripped or not, where spans are seen. */
void attach_describe_words(const struct gobinary_info *info, char *to, size_t size);

#endif
