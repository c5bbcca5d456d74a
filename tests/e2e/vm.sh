#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The oldest and the newest kernel, on both architectures: the object loads and samples are right.
# Tier: full
# Time limit: 1200
#
#   tests/e2e/vm.sh BUILD_DIR [KERNEL[-ARCH]...]
set -eu
top=$(cd "$(dirname "$0")/../.." && pwd)
build=${1:?usage: vm.sh BUILD_DIR [KERNEL...]}
shift
[ $# -gt 0 ] || set -- 5.10 newest 5.10-arm64 newest-arm64
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
trap 'exit 130' INT TERM
status=0
"$top/tests/vm/matrix.sh" "$build" "$out" "$@" || status=$?
exit "$status"
