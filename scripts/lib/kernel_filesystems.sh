# SPDX-License-Identifier: Apache-2.0
# Mounts the kernel's file systems that BPF tools use where they are missing; sourced, not run.
# shellcheck shell=sh

# mount_kernel_filesystems: needs root; what cannot be mounted is left to the tests to report.
mount_kernel_filesystems()
{
	[ "$(id -u)" = 0 ] || return 0
	grep -q ' /sys/kernel/tracing tracefs ' /proc/mounts ||
		mount -t tracefs tracefs /sys/kernel/tracing 2>/dev/null || :
	grep -q ' /sys/fs/bpf bpf ' /proc/mounts ||
		mount -t bpf bpf /sys/fs/bpf 2>/dev/null || :
}
