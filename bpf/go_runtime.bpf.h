/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* Reading Go's runtime and the SDK's spans in the memory of the current process. */
#ifndef GO_RUNTIME_BPF_H
#define GO_RUNTIME_BPF_H

#include "maps.bpf.h"
#include "registers.bpf.h"

/* Whether it may be a return address of Go code. */
static __always_inline bool in_text(const struct target_process *target, __u64 address)
{
	return address - target->text_start < target->text_end - target->text_start;
}

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

/* A page that cannot be read now is an answer of its own: the span may well be open. */
enum span_state { SPAN_OPEN, SPAN_ENDED, SPAN_REPLACED, SPAN_UNREADABLE };

/* What was read of a span at once, and where its fields lie in it. */
struct span_window {
	__u64 address; /* of the span */
	__u32 generation;
	struct target_span at;
	__u8 bytes[TARGET_SPAN_WINDOW + 16]; /* longer by the longest field behind a place */
};

/* The probes can be interrupted by the sampler. */
enum window_owner { WINDOW_OF_PROBE, WINDOW_OF_SAMPLER, WINDOW_OWNERS };

/* One window on each CPU for each of the owners; nothing else sees them. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, WINDOW_OWNERS);
	__type(key, __u32);
	__type(value, struct span_window);
} windows SEC(".maps") __attribute__((weak));

static __always_inline struct span_window *window_of(__u32 owner)
{
	return bpf_map_lookup_elem(&windows, &owner);
}

/* For looks at spans of this process from here on. */
static __always_inline struct span_window *open_window(const struct target_process *target,
						       enum window_owner owner)
{
	struct span_window *window = window_of(owner);

	if (!window)
		return NULL;
	window->generation = target->generation;
	window->at = target->span;
	return window;
}

static __always_inline __u64 window_word(const struct span_window *window, __u8 place)
{
	return *(const __u64 *)&window->bytes[place];
}

/* The word behind the one at that place. */
static __always_inline __u64 window_next_word(const struct span_window *window, __u8 place)
{
	return *(const __u64 *)&window->bytes[place + 8];
}

static __always_inline bool read_window(struct span_window *window, __u64 span)
{
	window->address = span;
	return !bpf_probe_read_user(window->bytes, TARGET_SPAN_WINDOW,
				    (void *)(span + window->at.window));
}

static __always_inline bool window_is_open(const struct span_window *window)
{
	return !window_word(window, window->at.end_time) &&
	       !window_next_word(window, window->at.end_time);
}

/*
 * Reads the stored span, or the one that it hides, into the owner's window; an enum span_state.
 * Not static: the verifier then looks at it once, and follows each answer once, not each of its
 * reasons through all the loops around it.
 */
__noinline __attribute__((weak)) int look_at_span(__u32 owner, __u64 address, __u64 span_id)
{
	struct span_window *window = window_of(owner);

	if (!window || !read_window(window, address & ~OPEN_SPAN_HIDES))
		return SPAN_UNREADABLE;
	if (window_word(window, window->at.span_id) != span_id)
		return SPAN_REPLACED;
	return window_is_open(window) ? SPAN_OPEN : SPAN_ENDED;
}

static __always_inline bool span_is_over(int state)
{
	return state == SPAN_ENDED || state == SPAN_REPLACED;
}

/* The store's entry of a goroutine, or NULL when it has none of its own. */
static __always_inline struct goroutine *goroutine_find(const struct target_process *target,
							__u32 older, __u64 g, __u64 goid)
{
	struct goroutine_key key = {.generation = target->generation, .older = older, .g = g};
	struct goroutine *found = bpf_map_lookup_elem(&goroutines, &key);

	return found && found->goid == goid ? found : NULL;
}

/*
 * The innermost span that is not known to be over, copied to `open`, what was read of it in the
 * owner's window. SPAN_ENDED when there is none.
 */
static __always_inline int find_open_span(const struct goroutine *goroutine,
					  enum window_owner owner, struct open_span *open,
					  __u8 *level)
{
	__s32 depth = goroutine->depth;

	for (__s32 i = GOROUTINE_SPANS - 1; i >= 0; i--) {
		int state;

		if (i >= depth)
			continue;
		state = look_at_span(owner, goroutine->spans[i].address,
				     goroutine->spans[i].span_id);
		if (span_is_over(state))
			continue;
		*open = goroutine->spans[i];
		*level = i;
		return state;
	}
	return SPAN_ENDED;
}

/* The first bytes of a string of the process; their number, 0 when they cannot be read. */
static __always_inline __u8 read_text(char *to, __u64 room, __u64 address, __u64 size)
{
	barrier_var(size);
	if (size > room)
		size = room;
	return size && !bpf_probe_read_user(to, size, (void *)address) ? size : 0;
}

#endif
