# SPDX-License-Identifier: Apache-2.0
# The Debian packages each command needs, in one place, and their installation; sourced, not run.
# shellcheck shell=sh disable=SC2034

# The names are the same in Debian 12 and 13.
packages_build='cmake ninja-build pkg-config gcc libc6-dev clang bpftool libbpf-dev libelf-dev
	zlib1g-dev libzydis-dev libprotobuf-c-dev protobuf-c-compiler uthash-dev libxxhash-dev
	libcurl4-openssl-dev libcmocka-dev'
packages_check='clang-format shellcheck'
packages_vm='qemu-system-x86 busybox-static cpio kmod xz-utils zstd'
packages_vm_arm64=qemu-system-arm
packages_arm64=gcc-aarch64-linux-gnu
packages_root='debootstrap git'
packages_e2e='procps binutils git'
packages_bench='bpftrace bpftool'

# need_packages NAME...: as root installs what is missing; otherwise names it and gives up.
# Exits 77 ("could not fetch") when the archive cannot deliver.
need_packages()
{
	command -v dpkg-query >/dev/null || return 0
	installed=$(dpkg-query -W -f '${db:Status-Status} ${Package}\n' "$@" 2>/dev/null || :)
	missing=
	for package; do
		printf '%s\n' "$installed" | grep -qx "installed $package" ||
			missing="$missing $package"
	done
	[ -n "$missing" ] || return 0
	if [ "$(id -u)" != 0 ]; then
		echo "missing packages: sudo apt-get install --no-install-recommends$missing" >&2
		exit 1
	fi
	echo "installing$missing" >&2
	apt_log=$(mktemp)
	# A failed update is judged by the installation: another repository may be the broken one.
	# shellcheck disable=SC2086
	if { apt-get -q update || :; } >"$apt_log" 2>&1 &&
		DEBIAN_FRONTEND=noninteractive apt-get -q install -y --no-install-recommends \
			-o DPkg::Lock::Timeout=300 $missing >>"$apt_log" 2>&1 </dev/null; then
		rm -f "$apt_log"
		return 0
	fi
	tail -n 15 "$apt_log" >&2
	rm -f "$apt_log"
	echo "could not fetch the packages:$missing" >&2
	exit 77
}
