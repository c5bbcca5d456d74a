#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Stacks of work that is hard to walk, each against the exact one of the same interrupt: unwound by
# the debugger's tables from a copy of all stacks, its names from the program itself.
# Time limit: 900
#
#   tests/e2e/exact.sh BUILD_DIR [SECONDS_OF_EACH_MODE [GO_VERSION...]]
set -eu
build=$(realpath "${1:?usage: exact.sh BUILD_DIR [SECONDS [GO_VERSION...]]}")
cd "$(dirname "$0")/../.."
. scripts/lib/go.sh
. scripts/lib/e2e.sh
. tests/e2e/recorder/recorder.sh
seconds=${2:-0.5} versions='1.18.10 local' cgos=1 limits='-mode 98 -all 99.5 -unknown 1'
if [ "${SPANPROF_TIER:-}" = full ]; then
	seconds=${2:-1} cgos='0 1' limits=''
	versions='1.18.10 1.20.14 1.21.13 1.22.12 1.24.13 1.25.0 local 1.27.3'
fi
[ $# -lt 3 ] || {
	shift 2
	versions=$*
}
[ "$(uname -m)" = x86_64 ] || {
	echo "exact.sh: for x86-64 only" >&2
	exit 0
}

# torture: every mode of it.
torture()
{
	: >"$work/log"
	"$work/torture" -seconds "$seconds" >"$work/modes" &
	target=$!
	child "$target"
	within 10 grep -q ready "$work/modes" || fail 'torture does not start'
	"$build/spanprof" -p "$target" -F 1 --wait off -o "$work/samples.jsonl" >"$work/out" \
		2>"$work/log" &
	agent=$!
	child "$agent"
	within 10 grep -q 'attached to' "$work/log" || fail 'spanprof does not attach'
	record_stacks "$agent" "$target"
	wait "$agent" || fail "spanprof failed: $(cat "$work/log")"
	tail -n 1 "$work/recorded"
	# One of few samples is more than the share that all programs together may have.
	"$work/exact" -program "$work/torture" -modes "$work/modes" -captures "$work/captures" \
		-samples "$work/samples.jsonl" -sums "$work/sums" -mode 97 -all 99.5 -unknown 1 ||
		fail "Go $version: figures"
}

build_recorder
go_build tests/e2e/exact "$work/exact"
for version in $versions; do
	toolchain=go$version
	[ "$version" != local ] || toolchain=local
	for cgo in $cgos; do
		echo "-- Go $version, cgo $cgo"
		GOTOOLCHAIN=$toolchain CGO_ENABLED=$cgo go_build tests/targets/torture "$work/torture"
		torture
	done
done
echo '-- all'
# shellcheck disable=SC2086
"$work/exact" -sums "$work/sums" $limits || fail 'figures of all'
verdict
