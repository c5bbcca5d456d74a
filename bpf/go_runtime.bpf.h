/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* Reading Go's runtime and the SDK's spans in the memory of the current process. */
#ifndef GO_RUNTIME_BPF_H
#define GO_RUNTIME_BPF_H

#include "maps.bpf.h"
#include "registers.bpf.h"

/* One pointer-sized word of user memory; false, and 0, when unreadable. */
static __always_inline bool read_word(__u64 address, __u64 *word)
{
	*word = 0;
	return !bpf_probe_read_user(word, sizeof(*word), (void *)address);
}

static __always_inline __u64 user_word(__u64 address)
{
	__u64 word;

	read_word(address, &word);
	return word;
}

#if defined(__TARGET_ARCH_arm64)
/* x28 always holds g without cgo; C code may use it, and Go then keeps g in thread storage. */
static __always_inline __u64 current_g(const struct target_process *target,
				       const struct user_registers *regs)
{
	struct task_struct *task = (void *)bpf_get_current_task();

	if (!(target->flags & TARGET_CGO))
		return regs->g;
	return user_word(thread_pointer(task) + target->tls_offset);
}

/* runtime.gobuf keeps LR right before the frame pointer: set where a prologue was left. */
static __always_inline __u64 saved_link(const struct target_process *target, __u64 g)
{
	return user_word(g + target->g_sched_bp - 8);
}
#else
static __always_inline __u64 current_g(const struct target_process *target,
				       const struct user_registers *regs)
{
	struct task_struct *task = (void *)bpf_get_current_task();

	return user_word(thread_pointer(task) + target->tls_offset);
}

static __always_inline __u64 saved_link(const struct target_process *target, __u64 g)
{
	return 0;
}
#endif

enum span_state { SPAN_ENDED, SPAN_OPEN, SPAN_UNREADABLE };

/*
 * Whether the span stored as `open` still is: endTime is the zero time and the ID the same. A page
 * that cannot be read now is a third answer: the span may well be open.
 */
static __always_inline enum span_state span_look(const struct target_process *target,
						 const struct open_span *open)
{
	__u64 id, end[2]; /* time.Time: wall, ext */
	__u64 id_at = open->address + target->span_context + target->context_span_id;

	if (bpf_probe_read_user(&id, sizeof(id), (void *)id_at) ||
	    bpf_probe_read_user(end, sizeof(end), (void *)(open->address + target->span_end_time)))
		return SPAN_UNREADABLE;
	return id == open->span_id && !end[0] && !end[1] ? SPAN_OPEN : SPAN_ENDED;
}

/* The store's entry of a goroutine, or NULL when it has none of its own. */
static __always_inline struct goroutine *goroutine_find(const struct target_process *target,
							__u64 g, __u64 goid)
{
	struct goroutine_key key = {.generation = target->generation, .g = g};
	struct goroutine *found = bpf_map_lookup_elem(&goroutines, &key);

	return found && found->goid == goid ? found : NULL;
}

#endif
