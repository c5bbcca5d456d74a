#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# spanprof --wait-all: goroutines outside spans, too, as many as the program has, by its own names;
# without it, none of them; and a program without the SDK.
# Time limit: 90
#
#   tests/e2e/wait_all.sh BUILD_DIR
set -eu
spanprof=$(realpath "${1:?usage: wait_all.sh BUILD_DIR}")/spanprof
cd "$(dirname "$0")/../.."
. scripts/lib/go.sh
. scripts/lib/e2e.sh

seconds=5 idle=20000 in_spans=20 churning=20

# start PROGRAM ARGUMENT...: sets target.
start()
{
	"$@" >"$work/told" 2>&1 &
	target=$!
	child "$target"
	within 20 grep -q ready "$work/told" || fail "$1 does not start"
}

# profile FLAG...
profile()
{
	run 0 "$spanprof" -p "$target" -d "$seconds" -o "$work/profile.pb.gz" -o "$work/profile.otlp" \
		--verbose "$@"
	grep 'waits:' "$work/log" || fail 'no figures of looks'
}

# standing FUNCTION: goroutines that stood there, on average, as pprof adds them up.
standing()
{
	go tool pprof -sample_index=off_cpu -unit=s -nodecount=1000 -nodefraction=0 -top \
		"$work/profile.pb.gz" 2>"$work/errors" |
		awk -v name="$1" -v seconds="$seconds" \
			'$NF == name { sub("s", "", $4); n = $4 / seconds } END { printf "%.1f\n", n }'
}

# within_looks WHAT GOT N: the time until a goroutine is looked at first is nobody's.
within_looks()
{
	expect_within "$1" "$2" "$(echo "$3" | awk '{ print $1 * 0.93 }')" \
		"$(echo "$3" | awk '{ print $1 * 1.02 }')"
}

go_build tests/targets/crowd "$work/crowd"
go_build tests/targets/plain "$work/plain"

echo '-- outside spans and in them'
start "$work/crowd" -spans "$in_spans" -idle "$idle" -churn "$churning" \
	-rate 100 -seconds 60
profile --wait-all
within_looks 'goroutines outside' "$(standing main.waitOutside)" "$idle"
within_looks 'goroutines in spans' "$(standing main.waitInSpan)" "$in_spans"
within_looks 'goroutines that never stand for long' "$(standing main.waitForShort)" "$churning"
within_looks 'goroutine that runs main' "$(standing runtime.main)" 1
expect 'of the runtime' "$(standing runtime.bgsweep) $(standing runtime.forcegchelper)" '0.0 0.0'
row='^ *[0-9.]* s *\([0-9,.]*\)  chan receive in main.waitOutside main.go:.*'
for report in "$work/out" "$work/shown"; do
	[ "$report" = "$work/out" ] || "$spanprof" show "$work/profile.otlp" >"$report"
	expect_text "$report" "$row" 'report'
	# By the time that was profiled, which begins before the first look.
	expect_within 'goroutines there' "$(sed -n "s/$row/\1/p" "$report" | tr -d ,)" \
		"$((idle * 85 / 100))" "$idle"
done

echo '-- in spans alone'
profile
expect 'goroutines outside' "$(standing main.waitOutside)" 0.0
within_looks 'goroutines in spans' "$(standing main.waitInSpan)" "$in_spans"
expect_no_text "$work/out" 'Off CPU outside' 'what is not looked at'
end "$target" || :

echo '-- goroutines of the very first span'
go_build tests/targets/stuck "$work/stuck"
run 0 "$spanprof" -d "$seconds" --wait-all -o "$work/profile.pb.gz" -- "$work/stuck"
expect_text "$work/out" 'receive message' 'its span'
within_looks 'its child' "$(standing 'main.(*service).child')" 1
sed '1,/^Off CPU outside/d' "$work/out" >"$work/outside"
expect_no_text "$work/outside" 'service).child' 'outside'

echo '-- without the SDK'
start "$work/plain" -seconds 60
profile --wait-all
expect_text "$work/out" ' s *[01]\.[0-9]  syscall.* in signal.signal_recv' 'report'
within_looks 'goroutine that takes signals' "$(standing os/signal.loop)" 1
verdict
