#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Profiling harms no program: under deep recursion, garbage collection and panics, attached to and
# detached from again and again, it computes, labels and traces the same; and requests go on.
# Tier: full
# Time limit: 600
#
#   tests/e2e/harmless.sh BUILD_DIR [SECONDS]
set -eu
spanprof=$(realpath "${1:?usage: harmless.sh BUILD_DIR [SECONDS]}")/spanprof
seconds=${2:-120}
cd "$(dirname "$0")/../.."
. scripts/lib/go.sh
. scripts/lib/e2e.sh
. tests/targets/sturdy/run.sh
unset OTEL_EXPORTER_OTLP_ENDPOINT OTEL_EXPORTER_OTLP_PROFILES_ENDPOINT

# shellcheck disable=SC2317 # called through within
is_probed()
{
	[ "$(text_differences "$target")" -ge 2 ]
}

# shellcheck disable=SC2317
is_clean()
{
	[ "$(text_differences "$target")" = 0 ]
}

# once NUMBER: attaches in one of two ways; one in three is killed.
once()
{
	length=$(shuf -n 1 -i 1000-3000 | awk '{ print $1 / 1000 }')
	kill=no
	[ $(($1 % 3)) != 1 ] || kill=yes
	e2e_case="attach $1, $length s, killed: $kill: "
	case $(($1 % 2)) in
	0) set -- "$spanprof" -F 499 -p "$target" ;;
	1) set -- "$spanprof" -F 499 --exe "$work/sturdy" ;;
	esac
	[ $kill = yes ] || set -- "$@" -d "$length"
	: >"$work/log"
	"$@" >"$work/report" 2>"$work/log" &
	profiler=$!
	child "$profiler"
	! within 1 is_probed || probed=$((probed + 1))
	if [ $kill = yes ]; then
		sleep "$length"
		end "$profiler" KILL || :
		within 5 is_clean || :
		killed=$((killed + 1))
	else
		wait "$profiler" || fail "exit status $?: $(tail -3 "$work/log")"
		head -1 "$work/report" >>"$work/reports"
	fi
	expect_quietly "$(text_differences "$target")" 'bytes of its text changed'
	kill -0 "$target" || fail 'the target is gone'
	attaches=$((attaches + 1))
	e2e_case=
}

# expect_quietly GOT WHAT: nothing is said of a zero.
expect_quietly()
{
	[ "$1" = 0 ] || fail "$1 $2"
}

again_and_again()
{
	sturdy_pair
	attaches=0 probed=0 killed=0
	: >"$work/reports"
	until=$(($(date +%s) + seconds))
	while [ "$(date +%s)" -lt "$until" ] && kill -0 "$target"; do
		once "$attaches"
	done
	echo "$attaches times attached, $probed seen in the text, $killed ended by kill -9"
	# On a busy machine it may come to an end before it was seen.
	expect_within 'seen in the text' "$probed" $((attaches / 2)) "$attaches"
	awk '{ for (i = 2; i <= NF; i++) {
			if ($i ~ /^spans?$/) spans += $(i - 1)
			if ($i == "samples") samples += $(i - 1)
		}
		seconds += $1 }
		END { printf "%d reports of %.0f s: %d samples, inside %d spans\n",
			NR, seconds, samples, spans; exit !(spans > 10 * NR) }' "$work/reports" ||
		fail 'hardly any span was profiled'
	sturdy_judge $((seconds / 2))
}

# Twenty processes of one file, the first with ten thousand goroutines in open spans.
requests()
{
	sturdy_serve 0 -parked 10000
	first=$sturdy_server
	for number in $(seq 19); do
		sturdy_serve "$number" -parked 100
	done
	sturdy_load -clients 8 -each 1 -every 10ms
	episodes host 20 --exe "$work/sturdy"
	episodes one 1 -p "$first"
	sturdy_end
	judge 'host-wide (--exe), all 20 processes' host -1
	judge 'host-wide (--exe), the one with 10,000 goroutines in spans' host 0
	judge 'that process alone (-p)' one 0
}

# episodes NAME PROCESSES OPTION...: three, with their windows in a file of that name.
episodes()
{
	name=$1 count=$2 times=
	shift 2
	rm -f "$work/windows"
	for _ in 1 2 3; do
		sturdy_episode "$count" 2 "$spanprof" "$@"
		times="$times $attach_ms ms,"
		grep "pid $first: .* open spans" "$work/log" | sed 's/^spanprof: debug: /  /'
	done
	mv "$work/windows" "$work/windows.$name"
	echo "  attached to $count after$times"
}

# judge WHAT WINDOWS SERVER
judge()
{
	echo "requests, $1:"
	"$work/alone" latency -records "$work/records" -windows "$work/windows.$2" -server "$3" ||
		fail "$1: gross harm"
}

sturdy_build
again_and_again
requests
verdict
