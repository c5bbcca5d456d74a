#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Functions and their shares against runtime/pprof, which profiles the same process meanwhile.
# Tier: full
# Time limit: 240
#
#   tests/e2e/pprof.sh BUILD_DIR [SECONDS]
set -eu
spanprof=$(realpath "${1:?usage: pprof.sh BUILD_DIR [SECONDS]}")/spanprof
cd "$(dirname "$0")/../.."
. scripts/lib/go.sh
. scripts/lib/e2e.sh
seconds=${2:-50} rate=499

go_build tests/e2e/verify "$work/verify"
go_build tests/targets/busy "$work/busy"
for kind in mixed maps; do
	echo "-- $kind"
	"$work/busy" -work "$kind" -seconds "$seconds" -rate "$rate" -profile "$work/theirs" \
		>"$work/told" 2>"$work/errors" &
	target=$!
	child "$target"
	within 10 grep -q ready "$work/told" || fail 'the program does not start'
	run 0 "$spanprof" -p "$target" -F "$rate" --wait off -o "$work/samples.jsonl"
	wait "$target" || fail "the program failed: $(cat "$work/errors")"
	# shellcheck disable=SC2046
	"$work/verify" runtime -pprof "$work/theirs" -samples "$work/samples.jsonl" \
		$(sed -n 's/^profiled \([0-9]*\) \([0-9]*\)$/-from \1 -to \2/p' "$work/told") ||
		fail "$kind: figures differ"
done
verdict
