#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Offsets come from the executable itself: with every number of the built-in tables wrong, spans and
# stacks are right all the same.
# Tier: full
# Time limit: 600
#
#   tests/e2e/no_tables.sh BUILD_DIR
set -eu
cd "$(dirname "$0")/../.."
. scripts/lib/go.sh
. scripts/lib/e2e.sh
: "${1:?usage: no_tables.sh BUILD_DIR}"

mkdir "$work/tree"
cp -R CMakeLists.txt bpf include proto src "$work/tree/"
for file in runtime_layout.c span_layout.c; do
	sed -i '/^} table\[\] = {/,/^};/s/\(\.[a-z_]* = \)[0-9][0-9]*/\165528/g' \
		"$work/tree/src/gobinary/$file"
done
spoilt=$(cat "$work"/tree/src/gobinary/*_layout.c | grep -o '= 65528' | wc -l)
expect_within 'numbers of the tables spoilt' "$spoilt" 50 500
compile_spoilt()
{
	cmake -S "$work/tree" -B "$work/build" -G Ninja -DSPANPROF_TESTS=OFF &&
		ninja --quiet -C "$work/build" spanprof
}
compile_spoilt >"$work/log" 2>&1 || {
	tail -20 "$work/log" >&2
	exit 1
}
tests/e2e/truth.sh "$work/build" 8 default stripped-pie || fail 'truth.sh'
tests/e2e/matrix.sh "$work/build" 1.0.1/1.18/default 1.17.0/1.22/stripped 1.28.0/1.21/unoptimized \
	1.47.0/1.27/stripped-pie || fail 'matrix.sh'
verdict
