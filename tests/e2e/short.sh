#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Processes that live for 50 ms: how many of the samples that their CPU time makes expected are kept
# and have their names, when their executable is known and when each has one of its own.
# Tier: full
# Time limit: 120
#
#   tests/e2e/short.sh BUILD_DIR [PROCESSES]
set -eu
spanprof=$(realpath "${1:?usage: short.sh BUILD_DIR [PROCESSES]}")/spanprof
cd "$(dirname "$0")/../.."
. scripts/lib/go.sh
. scripts/lib/e2e.sh
processes=${2:-200} hertz=99

mkdir "$work/programs"
go_build tests/targets/short "$work/programs/short"

# share FLAG...: percent of the samples expected.
share()
{
	"$spanprof" --exe "$work/programs/*" -F "$hertz" --wait off -o "$work/samples.jsonl" \
		>"$work/report" 2>"$work/log" &
	agent=$!
	child "$agent"
	"$work/programs/short" -ms 3000 & # that the executable is known, and the agent ready
	first=$!
	child "$first"
	within 20 grep -q 'attached to' "$work/log" || fail "no attach: $(cat "$work/log")"
	wait "$first"
	"$work/programs/short" -ms 50 -processes "$processes" "$@" >"$work/used" &
	driver=$!
	child "$driver"
	wait "$driver" || fail 'the processes failed'
	end "$agent" INT || fail "spanprof failed: $(cat "$work/log")"
	named_samples "$first" "$driver" | awk -v hertz="$hertz" -v used="$(sed -n 's/^used //p' "$work/used")" '
		{ printf "%.1f\n", 100 * $1 / (used / 1e9 * hertz) }'
}

# named_samples PID PID: samples of other processes, with a function of Go.
named_samples()
{
	grep '"stack":\[.*\.\(go\|s\):' "$work/samples.jsonl" | grep -vc "\"pid\":\($1\|$2\)," || :
}

expect_within 'known executable: % of the samples expected' "$(share)" 95 108
expect_within 'a new executable each time: % of the samples expected' "$(share -fresh)" 0 108
grep -i 'lost\|without' "$work/log" || :
verdict
