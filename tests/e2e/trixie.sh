#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A clean clone builds in a fresh Debian 13 root, with its libbpf, bpftool and clang.
# Tier: full
# Time limit: 900
set -eu
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck disable=SC2016
"$here/debian-root.sh" trixie sh -c '
	scripts/build
	echo "second run:"
	again=$(scripts/build 2>&1)
	[ -z "$again" ] || { echo "scripts/build is not quiet when nothing is to do: $again"; exit 1; }
	build/spanprof --version'
