#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# SIGINT, SIGTERM and kill -9 at random moments: no program stays in the kernel, no probe in the
# target's text, no child, no half-written file; and the target works on.
# Time limit: 150
#
#   tests/e2e/interrupt.sh BUILD_DIR [TIMES]
set -eu
spanprof=$(realpath "${1:?usage: interrupt.sh BUILD_DIR [TIMES]}")/spanprof
times=12
[ "${SPANPROF_TIER:-default}" != full ] || times=20
times=${2:-$times}
cd "$(dirname "$0")/../.."
. scripts/lib/go.sh
. scripts/lib/e2e.sh

# Programs of ours that no process holds, be it by itself or by a link.
stray_programs()
{
	bpftool prog show 2>/dev/null | sed -n \
		's/^\([0-9]*\): .* name \(cpu_sample\|span_start_\|goroutine_star\|process_\|measure_reg\).*/\1/p' |
		sort >"$work/programs"
	cat /proc/[0-9]*/fdinfo/* 2>/dev/null | sed -n 's/^prog_id:[^0-9]*//p' | sort -u >"$work/held"
	comm -23 "$work/programs" "$work/held"
}

# shellcheck disable=SC2317 # called by within
nothing_stays()
{
	[ -z "$(stray_programs)" ] && [ "$(text_differences "$target")" = 0 ]
}

# Offset in the text, byte in memory, byte in the file, as cmp tells them of text_differences.
changed_bytes()
{
	cmp -l "$work/text.memory" "$work/text.file" 2>/dev/null | head -n 3 | xargs
}

# What the target has done so far, in ticks of CPU.
ticks()
{
	awk '{ print $14 + $15 }' "/proc/$1/stat"
}

# shellcheck disable=SC2317
works_on()
{
	[ "$(ticks "$target")" -gt "$before" ]
}

# How it is run; in one of three the target is found, in one it is an own child.
run_it()
{
	case $(($1 % 3)) in
	0) set -- -p "$target" ;;
	1) set -- --include "$work/sdk" -o "$work/a.otlp" ;;
	2) set -- -o "$work/a.jsonl" -- "$work/sdk" -mode spans -seconds 34 ;;
	esac
	exec env --default-signal=INT "$spanprof" "$@" >"$work/out" 2>"$work/log"
}

# Not before: the shell has it ignore SIGINT until env ends that.
is_running()
{
	read -r comm <"/proc/$1/comm" && [ "$comm" = spanprof ]
}

once()
{
	signal=$(shuf -n 1 -e INT TERM KILL)
	delay=$(shuf -n 1 -i 0-1200 | awk '{ print $1 / 1000 }')
	rm -f "$work"/a.*
	run_it "$1" &
	profiler=$!
	child "$profiler"
	until is_running "$profiler"; do :; done
	sleep "$delay"
	e2e_case="$1: $signal after $delay s: "
	began=$(date +%s.%N)
	status=0
	end "$profiler" "$signal" || status=$?
	took=$(seconds_since "$began")
	case $signal:$status in
	KILL:137 | INT:0 | TERM:0) ;;
	# Nothing was profiled yet, or it had not come as far as taking signals.
	INT:1 | INT:130 | TERM:1 | TERM:143) early=$((early + 1)) ;;
	*) fail "exit status $status: $(tail -2 "$work/log")" ;;
	esac
	awk -v took="$took" 'BEGIN { exit !(took < 3) }' || fail "takes $took s"
	within 3 nothing_stays || fail "programs: $(stray_programs | xargs)," \
		"bytes changed: $(text_differences "$target"): $(changed_bytes)"
	kill -0 "$target" || fail 'the target is gone'
	before=$(ticks "$target")
	within 5 works_on || fail 'the target stands still'
	within 3 no_child || fail "children: $(pgrep -axf "$work/sdk -mode spans -seconds 34")"
	[ "$signal" = KILL ] || [ -z "$(find "$work" -name 'a.*.??????')" ] ||
		fail "half-written: $(find "$work" -name 'a.*.??????')"
	signals="$signals $signal"
	e2e_case=
}

# shellcheck disable=SC2317
no_child()
{
	[ "$(pgrep -cxf "$work/sdk -mode spans -seconds 34")" = 0 ]
}

attached()
{
	"$spanprof" -p "$target" -d 3 >"$work/out" 2>"$work/log" &
	profiler=$!
	child "$profiler"
	sleep 2.5
	expect 'programs that nobody holds' "$(stray_programs)" ''
	expect_within 'programs that are held' "$(wc -l <"$work/programs")" 5 100
	expect_within 'bytes of the target changed by probes' "$(text_differences "$target")" 2 8
	wait "$profiler" || fail "exit status $?"
	expect 'bytes changed afterwards' "$(text_differences "$target")" 0
}

# Stopped for longer than a hanging read is borne with, it goes on; two signals at once are one.
stopped_and_told_twice()
{
	"$spanprof" -p "$target" -d 2 >"$work/out" 2>"$work/log" &
	profiler=$!
	child "$profiler"
	within 5 grep -q attached "$work/log" || fail "does not attach: $(cat "$work/log")"
	kill -STOP "$profiler"
	sleep 8
	kill -CONT "$profiler"
	wait "$profiler" || fail "after SIGCONT: exit status $?: $(cat "$work/log")"
	expect_text "$work/out" 'samples .* CPU .* inside' 'report after SIGCONT'
	run 0 timeout --preserve-status -s INT 1 "$spanprof" -p "$target"
	expect_text "$work/out" 'samples .* CPU .* inside' 'report when timeout ends it'
}

go_build tests/targets/plain "$work/plain"
(cd tests/targets/plain && go build -o "$work/sdk" ./sdk)
: >"$work/target.out"
"$work/sdk" -mode spans -seconds 300 >"$work/target.out" 2>&1 &
target=$!
child "$target"
within 10 grep -q ready "$work/target.out" || fail 'the target does not start'
uprobe_events=$(cat /sys/kernel/tracing/uprobe_events)
attached
signals='' early=0
for i in $(seq "$times"); do
	once "$i"
done
echo "signals:$signals; $early of them came before a process was profiled"
stopped_and_told_twice
attached # nothing of all that is in the way of the next
expect 'events in tracefs' "$(cat /sys/kernel/tracing/uprobe_events)" "$uprobe_events"
expect 'pinned objects' "$(find /sys/fs/bpf -name '*spanprof*' | wc -l)" 0
end "$target" || fail "the target exited $?"
verdict
