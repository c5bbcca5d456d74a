// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
/* Which processes come and go: exec and exit end what is known of an image, in the kernel. */
#include "maps.bpf.h"
#include "kernel_types.h"

/* Written by the agent before it starts a COMMAND; taken by exec. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 16);
	__type(key, struct target_image);
	__type(value, struct target_process);
} images SEC(".maps");

static const struct target_process pending = {.flags = TARGET_PENDING};
static const __u8 yes = 1;

static __always_inline void announce_task(struct task_struct *task, enum record_type type,
					  __u32 generation, __u32 image_generation)
{
	announce(type, BPF_CORE_READ(task, tgid), BPF_CORE_READ(task, real_parent, tgid),
		 generation, image_generation);
}

/*
 * Gives the process the image that the agent prepared for the file it runs now, once: another
 * process of the same file needs a generation of its own. Returns the generation, 0 for none.
 */
static __always_inline __u32 take_prepared_image(__u32 tgid, struct linux_binprm *binprm)
{
	struct target_image key = {
		.inode = BPF_CORE_READ(binprm, file, f_inode, i_ino),
		.device = BPF_CORE_READ(binprm, file, f_inode, i_sb, s_dev),
	};
	struct target_process *prepared = bpf_map_lookup_elem(&images, &key), image;

	if (!prepared)
		return 0;
	image = *prepared;
	/* Of two that exec it at once, the one that deletes it has it. */
	if (bpf_map_delete_elem(&images, &key) ||
	    bpf_map_update_elem(&processes, &tgid, &image, BPF_ANY))
		return 0;
	return image.generation;
}

/*
 * Deletes what was known of the process's image, so that its offsets never meet another; false
 * when nothing was. Its generation is 0 when it was not profiled yet.
 */
static __always_inline bool forget_image(__u32 tgid, __u32 *generation)
{
	struct target_process *target = bpf_map_lookup_elem(&processes, &tgid);

	*generation = target ? target->generation : 0;
	if (target)
		bpf_map_delete_elem(&processes, &tgid);
	return target;
}

/* Arguments: task, old pid, binprm. */
SEC("raw_tp/sched_process_exec")
int process_exec(struct bpf_raw_tracepoint_args *ctx)
{
	struct task_struct *task = (void *)ctx->args[0];
	__u32 tgid = BPF_CORE_READ(task, tgid), generation, image_generation = 0;
	bool known = forget_image(tgid, &generation);
	bool follow = known || tunables.every_process || bpf_map_lookup_elem(&followed, &tgid);

	if (follow)
		image_generation = take_prepared_image(tgid, (void *)ctx->args[2]);
	if (follow && !image_generation &&
	    bpf_map_update_elem(&processes, &tgid, &pending, BPF_ANY))
		count_lost(LOSS_PROCESSES_FULL);
	if (follow)
		announce_task(task, RECORD_EXEC, generation, image_generation);
	return 0;
}

/* Arguments: parent, child. Threads share the tgid and change nothing. */
SEC("raw_tp/sched_process_fork")
int process_fork(struct bpf_raw_tracepoint_args *ctx)
{
	struct task_struct *parent = (void *)ctx->args[0], *child = (void *)ctx->args[1];
	__u32 parent_tgid = BPF_CORE_READ(parent, tgid), tgid = BPF_CORE_READ(child, tgid);

	if (tgid != parent_tgid && bpf_map_lookup_elem(&followed, &parent_tgid) &&
	    bpf_map_update_elem(&followed, &tgid, &yes, BPF_ANY))
		count_lost(LOSS_PROCESSES_FULL);
	return 0;
}

/* Arguments: task. The process ends with its last thread. */
SEC("raw_tp/sched_process_exit")
int process_exit(struct bpf_raw_tracepoint_args *ctx)
{
	struct task_struct *task = (void *)ctx->args[0];
	__u32 tgid = BPF_CORE_READ(task, tgid), generation;
	bool known;

	if (BPF_CORE_READ(task, signal, live.counter))
		return 0;
	known = forget_image(tgid, &generation);
	bpf_map_delete_elem(&followed, &tgid);
	if (known)
		announce_task(task, RECORD_EXIT, generation, 0);
	return 0;
}
