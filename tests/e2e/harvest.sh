#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Every span that a service ended is told of with its name, times, parent, status and kind, read
# from memory without a probe on its end; what the garbage collector takes first is known to be lost.
# Time limit: 120
#
#   tests/e2e/harvest.sh BUILD_DIR [SECONDS]
#   SECONDS: of each of the four phases of tests/targets/spanlog
set -eu
spanprof=$(realpath "${1:?usage: harvest.sh BUILD_DIR [SECONDS]}")/spanprof
seconds=${2:-4}
cd "$(dirname "$0")/../.."
. scripts/lib/go.sh
. scripts/lib/e2e.sh

# shellcheck disable=SC2317 # called through within
# is_probed: by the probe of span starts and that of `go` statements, which follows the first.
is_probed()
{
	[ "$(text_differences "$program")" -ge 2 ]
}

# shellcheck disable=SC2317
# is_settled: its loop was found waiting 15 times in a row. Once a second, while it does not know
# what its probes cost, it goes and measures that, and reads nothing meanwhile.
is_settled()
{
	read -r call _ <"/proc/$profiler/syscall" || return 1
	case $call in
	232 | 281 | 22) waiting=$((waiting + 1)) ;; # epoll_wait, epoll_pwait: x86-64, arm64
	*) waiting=0 ;;
	esac
	[ "$waiting" -ge 15 ]
}

# shellcheck disable=SC2317
is_done()
{
	grep -q 'done,' "$work/out" || ! kill -0 "$program" 2>/dev/null
}

go_build tests/targets/spanlog "$work/spanlog"
go_build tests/targets/spanlog/judge "$work/judge"
(cd tests/targets/spanlog && go test ./judge >"$work/log" 2>&1) || fail "$(cat "$work/log")"

: >"$work/out"
"$work/spanlog" -log "$work/spans.jsonl" -seconds "$seconds" >"$work/out" 2>&1 &
program=$!
child "$program"
within 20 grep -q ready "$work/out" || fail 'spanlog does not start'
# The service does little but spans: a budget would be for the guard, not for what is tried here.
"$spanprof" -p "$program" --verbose --probe-budget 0 -o "$work/samples.jsonl" \
	>"$work/report" 2>"$work/log" &
profiler=$!
child "$profiler"
within 20 is_probed || fail "not probed: $(cat "$work/log")"
waiting=0
within 30 is_settled || fail 'spanprof does not settle'
kill -USR1 "$program"
within $((8 * seconds + 30)) is_done || fail 'spanlog does not end'
end "$profiler" INT || fail "spanprof exited $?: $(cat "$work/log")"
end "$program" || fail "spanlog: $(cat "$work/out")"
expect_no_text "$work/log" 'probes take' 'the probes stay'

"$work/judge" -log "$work/spans.jsonl" -samples "$work/samples.jsonl" -verbose "$work/log" \
	-show 5 || fail "ends of spans: $(grep -v debug "$work/log")"
verdict
