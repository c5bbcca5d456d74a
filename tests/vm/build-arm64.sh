#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Cross-compiles the whole tree for arm64, unit tests included, with warnings as errors.
#
#   tests/vm/build-arm64.sh OUT_DIR [CMAKE_OPTION...]
#
# The libraries lie in the cache (default ~/.cache/spanprof/sysroot-arm64).
# Exit status: 77 when packages could not be fetched.
set -eu
: "${1:?usage: build-arm64.sh OUT_DIR}"
mkdir -p "$1"
out=$(cd "$1" && pwd)
shift
cd "$(dirname "$0")/../.."
. scripts/lib/packages.sh
. scripts/lib/compile.sh
# shellcheck disable=SC2086
need_packages $packages_build $packages_arm64
sysroot=${XDG_CACHE_HOME:-${HOME:-/root}/.cache}/spanprof/sysroot-arm64
tests/vm/sysroot.sh "$sysroot"
compile "$out" -DCMAKE_TOOLCHAIN_FILE="$(pwd)/tests/vm/arm64.cmake" \
	-DSPANPROF_SYSROOT="$sysroot" -DSPANPROF_WERROR=ON "$@"
