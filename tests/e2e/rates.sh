#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Programs that start more spans and goroutines than any service: what that costs them, what is done
# about it, and that no tag is wrong then. Figures are of this machine; asserted is what is not.
# Tier: full
# Time limit: 420
#
#   tests/e2e/rates.sh BUILD_DIR [PART...]
#   PART: guarded unguarded goroutines crowd
set -eu
spanprof=$(realpath "${1:?usage: rates.sh BUILD_DIR [PART...]}")/spanprof
cd "$(dirname "$0")/../.."
. scripts/lib/go.sh
. scripts/lib/e2e.sh
shift
[ $# -gt 0 ] || set -- guarded unguarded goroutines crowd
flat_kib=2048

# start FLAG...: spancost, whose lines go to $work/out; sets program.
start()
{
	: >"$work/out"
	"$work/spancost" "$@" >"$work/out" 2>&1 &
	program=$!
	child "$program"
	within 20 grep -q ready "$work/out" || fail 'spancost does not start'
}

# stamp FILE: lines with the time at which they came.
stamp()
{
	while IFS= read -r line; do
		printf '%s %s\n' "$(date +%s%N)" "$line"
	done >"$1"
}

# attach FLAG...: spanprof to the program; its stamped log is in $work/log. Sets profiler, attached.
attach()
{
	rm -f "$work/pipe"
	mkfifo "$work/pipe"
	: >"$work/log"
	stamp "$work/log" <"$work/pipe" &
	stamper=$!
	"$spanprof" -p "$program" --verbose "$@" >"$work/report" 2>"$work/pipe" &
	profiler=$!
	child "$profiler" "$stamper"
	within 20 grep -q 'attached to' "$work/log" || fail 'spanprof does not attach'
	attached=$(time_of 'attached to')
}

# detach: ends it, or waits for its end when that is near; sets detached.
detach()
{
	detached=$(date +%s%N)
	[ $# = 0 ] || kill "-$1" "$profiler"
	wait "$profiler" || fail "spanprof exited $?: $(cat "$work/log")"
	[ $# != 0 ] || detached=$(date +%s%N)
	wait "$stamper" || :
}

# time_of EXPRESSION: of the first line of the log that has it, or nothing.
time_of()
{
	sed -n "s/^\([0-9]*\) .*$1.*/\1/p" "$work/log" | head -n 1
}

# median FIELD FROM TO: of the program's lines on whole seconds between these times.
median()
{
	sed -n "s/^at=\([0-9]*\) .*\b$1=\([0-9]*\).*/\1 \2/p" "$work/out" |
		awk -v from="$2" -v to="$3" '$1 - 1e9 >= from && $1 <= to { print $2 }' | sort -n |
		awk '{ all[NR] = $1 } END { print NR ? all[int((NR + 1) / 2)] : "-" }'
}

# shellcheck disable=SC2317 # called through within
# has_lines N: of figures, since $mark lines.
has_lines()
{
	[ "$(grep -c '^at=' "$work/out")" -ge $((mark + $1)) ] || ! kill -0 "$program" 2>/dev/null
}

# seconds N: waits until the program has told of so many more.
seconds()
{
	mark=$(grep -c '^at=' "$work/out" || :)
	within $((3 * $1 + 10)) has_lines "$1" || fail 'spancost stands still'
}

# said WORDS: the number behind them in the log, 0 when they are not there.
said()
{
	sed -n "s/.*$1: \([0-9]*\).*/\1/p" "$work/log" | head -n 1 | grep . || echo 0
}

# compare FIELD WORDS [FROM TO]: what the program says of itself without and with spanprof.
compare()
{
	alone=$(median "$1" 0 "$attached")
	beside=$(median "$1" "${3:-$attached}" "${4:-$detached}")
	awk -v what="$2" -v alone="$alone" -v beside="$beside" 'BEGIN {
		printf "  %s: %s alone, %s beside spanprof, ×%.2f\n", what, alone, beside,
			beside / (alone + !alone) }'
}

# usage: what spanprof has used of memory, KiB: its own and that of its maps.
usage()
{
	rss=$(awk '$1 == "VmRSS:" { print $2 }' "/proc/$profiler/status")
	maps=$(cat "/proc/$profiler/fdinfo"/* 2>/dev/null |
		awk '$1 == "memlock:" { sum += $2 } END { print sum / 1024 }')
}

# what_it_said: the lines of its log that are no figures; how much it used.
what_it_said()
{
	awk -v attached="$attached" '/ debug: / && !/: (used|spans read) / { next }
		/ (spans|goroutines) started$|wrote / { next }
		{ at = ($1 - attached) / 1e9; sub(/^[0-9]* spanprof: /, "")
		  printf "  %+5.1f s: %s\n", at, substr($0, 1, 230) }' "$work/log"
}

# tags [NAME=TIME...]: judged in these stretches of time.
tags()
{
	for cut; do
		shift
		set -- "$@" -cut "$cut"
	done
	"$work/judge" -truth "$work/truth" -samples "$work/samples.jsonl" "$@" ||
		fail 'wrong tags, or ends that were told of before'
}

# 100,000 spans a second, with the limit on what probes may cost.
guarded()
{
	start -truth "$work/truth" -rate 100000 -seconds 200
	seconds 6
	attach -d 38 -o "$work/samples.jsonl"
	detach
	seconds 3
	end "$program" || fail "spancost: $(cat "$work/out")"
	what_it_said
	switched=$(time_of 'probes take')
	again=$(time_of 'by probes again')
	[ -n "$switched" ] || fail 'the probes stayed'
	compare spans 'spans a second'
	[ -z "$switched" ] ||
		compare span_ns 'ns of CPU a span, probes off' "$switched" "${again:-$detached}"
	compare cpu_ms 'ms of CPU a second, all in all'
	awk -v ns="$((${switched:-$detached} - attached))" \
		'BEGIN { printf "  probes off after %.1f s\n", ns / 1e9 }'
	tags "probes on=$attached" ${switched:+"probes off=$switched"} \
		${again:+"tried again=$again"}
}

# The same without that limit.
unguarded()
{
	start -truth "$work/truth" -rate 100000 -seconds 200
	seconds 6
	attach -d 12 --probe-budget 0 -o "$work/samples.jsonl"
	detach
	seconds 3
	end "$program" || fail "spancost: $(cat "$work/out")"
	what_it_said
	expect_no_text "$work/log" 'probes take' 'the probes stay'
	compare spans 'spans a second'
	compare span_ns 'ns of CPU a span, probes on'
	compare cpu_ms 'ms of CPU a second, all in all'
	tags
}

# A million goroutines in ten seconds.
goroutines()
{
	start -gos 100000 -seconds 200
	seconds 5
	attach --probe-budget 0
	seconds 3
	usage
	rss_before=$rss maps_before=$maps
	seconds 10
	usage
	detach INT
	end "$program" || fail "spancost: $(cat "$work/out")"
	what_it_said
	compare gos 'go statements a second'
	compare go_ns 'ns of CPU a go statement in a span' $((attached + 2000000000)) "$detached"
	statements=$(said go_statements)
	echo "  $statements go statements seen, $(said goroutines_stored) goroutines stored," \
		"$(said 'store of goroutines is full') not followed"
	[ "$statements" -gt 0 ] || fail 'no go statement was seen'
	echo "  KiB before and after: own $rss_before $rss, maps $maps_before $maps"
	expect_within 'own memory grew by' $((rss - rss_before)) -99999 "$flat_kib"
	expect 'memory of its maps' "$maps" "$maps_before"
}

# More goroutines with open spans at once than the store takes.
crowd()
{
	many=200000
	start -truth "$work/truth" -rate 2000 -crowd "$many" -stays 8s -seconds 200
	attach --probe-budget 0 -o "$work/samples.jsonl"
	seconds 5
	usage
	rss_before=$rss
	came=$(date +%s%N)
	kill -USR1 "$program"
	within 120 grep -q 'crowd: [0-9]* are there' "$work/out" || fail 'no crowd'
	usage
	rss_full=$rss
	within 60 grep -q 'crowd: gone' "$work/out" || fail 'the crowd stays'
	gone=$(date +%s%N)
	seconds 8
	usage
	detach INT
	end "$program" || fail "spancost: $(cat "$work/out")"
	grep crowd "$work/out"
	what_it_said
	echo "  KiB of its own before, with all there and afterwards: $rss_before $rss_full $rss"
	full=$(said 'store of goroutines is full')
	stored=$(said goroutines_stored)
	echo "  $stored goroutines stored, $full not followed for want of room"
	# Each of the crowd has one span: it is stored or counted.
	expect_within 'the crowd, stored or counted' $((stored + full)) "$many" $((2 * many))
	expect_within 'not followed' "$full" 1 "$many"
	tags "with the crowd=$came" "afterwards=$gone"
}

go_build tests/targets/spancost "$work/spancost"
go_build tests/targets/spancost/judge "$work/judge"
(cd tests/targets/spancost && go test ./... >"$work/log" 2>&1) || fail "$(cat "$work/log")"
for part; do
	echo "-- $part"
	case $part in
	guarded) guarded ;;
	unguarded) unguarded ;;
	goroutines) goroutines ;;
	crowd) crowd ;;
	*) fail "no part $part" ;;
	esac
done
verdict
