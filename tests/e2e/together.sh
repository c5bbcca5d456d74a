#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Several tools probe one process at once, begin and end in any order, and one is killed: each of
# them has the right span for every sample, and none takes another's probes away.
# Tier: full
# Time limit: 150
#
#   tests/e2e/together.sh BUILD_DIR
set -eu
spanprof=$(realpath "${1:?usage: together.sh BUILD_DIR}")/spanprof
cd "$(dirname "$0")/../.."
. scripts/lib/go.sh
. scripts/lib/kernel_filesystems.sh
. scripts/lib/e2e.sh
tracing=/sys/kernel/tracing
trap 'untrace; e2e_end' EXIT
hertz=199

# agent NAME OPTION...: starts one; $work/NAME.jsonl is for its samples. Sets agent.
agent()
{
	name=$1
	shift
	: >"$work/$name.log"
	"$spanprof" -F $hertz -o "$work/$name.jsonl" "$@" >"$work/$name.report" \
		2>"$work/$name.log" &
	agent=$!
	child "$agent"
	within 20 grep -q attached "$work/$name.log" ||
		fail "$name does not attach: $(cat "$work/$name.log")"
}

# finish NAME PID
finish()
{
	end "$2" INT || fail "$1 exited $?: $(cat "$work/$1.log")"
}

now()
{
	date +%s%N
}

# shellcheck disable=SC2317 # called through within
is_probed()
{
	[ "$(text_differences "$target")" -ge "$probe_bytes" ]
}

# shellcheck disable=SC2317
is_clean()
{
	[ "$(text_differences "$target")" = 0 ]
}

# clean WHEN
clean()
{
	within 3 is_clean || :
	expect "bytes of the text changed $1" "$(text_differences "$target")" 0
}

# still_probed WHEN: all of it, and not just soon.
still_probed()
{
	sleep 0.3
	expect "bytes of the text changed $1" "$(text_differences "$target")" "$probe_bytes"
}

# places: the file offsets of the probes that text_differences has just seen.
places()
{
	segment=$(awk '$2 ~ /x/ && $6 ~ /^\// { print $3; exit }' "/proc/$target/maps")
	cmp -l -n "$(stat -c %s "$work/text.file")" "$work/text.memory" "$work/text.file" |
		awk -v step=$((probe_bytes / 2)) '{ at = $1 - 1; print at - at % step }' | uniq |
		while read -r at; do
			printf '0x%x\n' $((at + 0x$segment))
		done
}

# trace: events of the kernel's own on the very instructions that spanprof probes.
trace()
{
	number=0
	while read -r at; do
		number=$((number + 1))
		echo "p:spanprof_together/place$number $work/truth:$at" >>$tracing/uprobe_events
	done <"$work/places"
	echo 1 >$tracing/events/spanprof_together/enable
}

untrace()
{
	[ -d $tracing/events/spanprof_together ] || return 0
	echo 0 >$tracing/events/spanprof_together/enable
	sed -n 's/^p:\(spanprof_together[^ ]*\) .*/-:\1/p' $tracing/uprobe_events |
		while read -r event; do
			echo "$event" >>$tracing/uprobe_events
		done
}

# hits: of each of these events.
hits()
{
	awk -v file="$work/truth" '$1 == file && $2 ~ /^place/ { print $3 }' \
		$tracing/uprobe_profile
}

# two_agents: host-wide and by pid, each once first to begin and once first to end.
two_agents()
{
	agent host1 --exe "$work/truth"
	host1=$agent
	sleep 1
	agent pid1 -p "$target"
	pid1=$agent
	sleep 2
	within 5 is_probed || fail "not probed: $(cat "$work"/*.log)"
	places >"$work/places"
	expect 'instructions probed' "$(wc -l <"$work/places")" 2
	finish host1 "$host1"
	host1_ended=$(now)
	still_probed 'when the first of two has ended'
	sleep 2
	agent host2 --exe "$work/truth"
	host2=$agent
	sleep 1.5
	finish pid1 "$pid1"
	pid1_ended=$(now)
	still_probed 'when the first of the next two has ended'
	sleep 1.5
	agent killed -p "$target"
	sleep 1
	end "$agent" KILL || :
	killed=$(now)
	still_probed 'when one was killed'
	sleep 2
	finish host2 "$host2"
	clean 'when all have ended'
}

# shellcheck disable=SC2317
are_hit()
{
	[ "$(hits | awk '$1 > 0' | wc -l)" = 2 ]
}

# shellcheck disable=SC2317
are_hit_more()
{
	[ "$(hits | sum)" -gt "$seen" ]
}

# others: the kernel's own events on the same instructions and, where it is installed, bpftrace in
# the same function. They begin before and end behind spanprof.
others()
{
	trace
	bpftrace=
	! command -v bpftrace >/dev/null || {
		bpftrace -e "uprobe:$work/truth:\"$start\" { @starts = count(); }" \
			>"$work/bpftrace.out" 2>&1 &
		bpftrace=$!
		child "$bpftrace"
		within 10 grep -q Attaching "$work/bpftrace.out" || fail "$(cat "$work/bpftrace.out")"
	}
	agent beside -p "$target"
	within 5 are_hit || fail "the other tracer's events: $(hits | xargs)"
	sleep 2
	finish beside "$agent"
	seen=$(hits | sum)
	within 5 are_hit_more || fail "no more than $seen hits of the other tracer's events"
	echo "another tracer on the same instructions: $(hits | xargs) hits"
	untrace
	[ -z "$bpftrace" ] || {
		end "$bpftrace" INT || :
		expect_text "$work/bpftrace.out" '@starts: [1-9]' 'bpftrace beside'
	}
	clean 'when the others have ended, too'
}

# judge NAME LEAST: not one sample has a wrong span, and so many percent of those in spans have
# theirs. Some that begin while it attaches have none. A pool's goroutine that is in a task then has
# the span of the task's context for as long as that is open (src/spans/README.md, R3), though it is
# idle by then: pooled-idle.
judge()
{
	before=$e2e_failures
	"$work/verify" truth -truth "$work/truth.jsonl" -samples "$work/$1.jsonl" -freq $hertz \
		-older -min-samples 100 -show 5 >"$work/verdict" 2>&1 || :
	total=$(sed -n 's/^ *total: //p' "$work/verdict")
	idle=$(awk '$1 == "pooled-idle" { print $5; exit }' "$work/verdict")
	echo "$1: $total; pooled-idle wrong ${idle:=0}"
	wrong=$(echo "$total" | cut -d ' ' -f 6)
	expect "$1: wrong" "$((${wrong:-1} - idle))" 0
	expect_within "$1: percent of those in spans" "${total##* }" "$2" 100
	[ "$before" = "$e2e_failures" ] || cat "$work/verdict" "$work/${1%%-*}.log" >&2
}

# after NAME OTHER WALL_NS: of its samples those later than when the other was gone. Spans go on to
# be seen when they start.
after()
{
	awk -F '[:,]' -v since="$3" -v monotonic="$(clock monotonic)" -v wall="$(clock wall)" \
		'$1 == "{\"time_ns\"" && $2 - monotonic > since - wall + 300000000' \
		"$work/$1.jsonl" >"$work/$1-after-$2.jsonl"
	judge "$1-after-$2" 98
	expect_within "$1: spans it saw start" "$(grep '"source":"own"' "$work/$1-after-$2.jsonl" |
		sed 's/.*"span_id":"\([0-9a-f]*\)".*/\1/' | sort -u | wc -l)" 5 100000
}

# clock NAME: one of the two times of a moment in the head of the truth.
clock()
{
	head -n 1 "$work/truth.jsonl" | sed "s/.*\"$1_ns\":\([0-9]*\).*/\1/"
}

mount_kernel_filesystems
probe_bytes=2
[ "$(uname -m)" = x86_64 ] || probe_bytes=8
start='go.opentelemetry.io/otel/sdk/trace.(*tracer).Start'
go_build tests/e2e/verify "$work/verify"
go_build tests/targets/truth "$work/truth"
: >"$work/truth.out"
"$work/truth" -seconds 120 -truth "$work/truth.jsonl" >"$work/truth.out" 2>&1 &
target=$!
child "$target"
within 20 grep -q ready "$work/truth.out" || fail 'the truth program does not get ready'
two_agents
others
end "$target" || fail "the truth program exited $?: $(cat "$work/truth.out")"
for name in host1 pid1 host2 beside; do
	judge "$name" 90
done
after pid1 host1 "$host1_ended"
after host2 pid1 "$pid1_ended"
after host2 killed "$killed"
verdict
