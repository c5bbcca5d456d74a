#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Unpacks Debian's arm64 libraries, all that spanprof links and needs to run; installs nothing.
#
#   tests/vm/sysroot.sh DIR
#
# Exit status: 77 when the archive did not deliver.
set -eu
top=$(cd "$(dirname "$0")/../.." && pwd)
. "$top/scripts/lib/debian.sh"
sysroot=${1:?usage: sysroot.sh DIR}
[ ! -e "$sysroot/complete" ] || exit 0
rm -rf "$sysroot"
mkdir -p "$sysroot"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM
private_apt "$work/apt" arm64 bookworm bookworm-security || exit 77
# Nothing counts as installed there, so the whole closure comes, the C library included.
(cd "$work" && apt-get -q install -y --download-only --no-install-recommends libc6-dev \
	linux-libc-dev libbpf-dev libelf-dev zlib1g-dev libprotobuf-c-dev libxxhash-dev uthash-dev \
	libcurl4-openssl-dev libcmocka-dev >&2) || exit 77
for package in "$work"/apt/cache/archives/*.deb; do dpkg -x "$package" "$sysroot"; done
: >"$sysroot/complete"
