/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A system call that is brought to its end even when this process gets SIGKILL meanwhile.
 *
 * The kernel reads no page of a target for a task that SIGKILL waits for (get_user_pages: -EINTR),
 * so a breakpoint that such a task takes out stays: "failed to unregister, leaking uprobe". Before
 * it does so it waits for an RCU grace period, 8 to 40 ms; in a detach of 80 ms one SIGKILL in six
 * of those in its first 20 ms left one. A task that has died of SIGKILL closes its files without
 * harm: only calls that it is in the midst of are the matter.
 */
#ifndef CAPTURE_SHIELDED_H
#define CAPTURE_SHIELDED_H

/*
 * Calls `work` in a child that shares memory and descriptors, as vfork's does, and waits for it; in
 * place when there can be no child. The child takes no signals and leaves the process group; only
 * what kills it by its own number, all of a cgroup, or all that share memory that is short, ends
 * it.
 *
 * `work` makes system calls and nothing else: a lock, be it malloc's, may be held by a thread that
 * SIGKILL ends, and the child would wait for it for ever. Returns what `work` returns; -EINTR when
 * the child was killed.
 */
int shielded_call(int (*work)(void *context), void *context);

#endif
