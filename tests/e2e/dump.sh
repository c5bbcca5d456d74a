#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# spanprof dump of a service that hangs: its open spans, who works for them, where those stand and
# for whom they may wait, as the service itself told; the service unharmed; 10,000 open spans.
# Time limit: 90
#
#   tests/e2e/dump.sh BUILD_DIR
set -eu
spanprof=$(realpath "${1:?usage: dump.sh BUILD_DIR}")/spanprof
cd "$(dirname "$0")/../.."
. scripts/lib/go.sh
. scripts/lib/e2e.sh

# start NAME [ARGUMENT...]: sets target; what it tells goes to $work/told.
start()
{
	program=$1
	shift
	: >"$work/told"
	"$work/$program" "$@" >"$work/told" 2>&1 &
	target=$!
	child "$target"
	within 20 grep -q ready "$work/told" || fail "$program does not start"
}

# told NAME FIELD: 2 its goroutine, 3 trace ID, 4 span ID, 5 start in ns since 1970.
told()
{
	awk -v name="$1" -v field="$2" '$1 == name { print $field }' "$work/told"
}

# part NAME: what was printed of its span, as $work/part.
part()
{
	awk -v RS= -v ids="trace $(told "$1" 3)  span $(told "$1" 4)" 'index($0, ids)' "$work/out" \
		>"$work/part"
}

# line_of EXPRESSION N: number of the N-th such line of the program.
line_of()
{
	grep -n "$1" tests/targets/stuck/main.go | sed -n "$2s/:.*//p"
}

# says STATUS EXPRESSION COMMAND...: one line on stderr, nothing on stdout.
says()
{
	wanted=$1 expression=$2
	shift 2
	run "$wanted" "$@"
	expect_text "$work/log" "^spanprof: error: .*$expression" said
	[ "$(wc -l <"$work/log")" = 1 ] || fail "more than one line: $(cat "$work/log")"
	[ ! -s "$work/out" ] || fail "on stdout: $(head -5 "$work/out")"
}

# dumped BEFORE: the whole of it is what the program told; BEFORE: date +%s.%N before it.
dumped()
{
	after=$(date +%s.%N)
	expect_text "$work/out" "^3 open spans .* unknown_service:stuck (pid $target) .* goroutines$" head
	expect 'oldest first' \
		"$(sed -n 's/^    trace .*  span //p' "$work/out" | tr '\n' ' ')" \
		"$(awk 'NF == 5 && $1 != "child" { print $5, $4 }' "$work/told" | sort -n |
			cut -d ' ' -f 2 | tr '\n' ' ')"
	for name in debit credit receive; do
		part "$name"
		began=$(told "$name" 5)
		expect_within "age of $name" "$(awk 'NR == 1 { print $(NF - 1) / ($NF == "ms" ? 1000 : 1) }' "$work/part")" \
			"$(echo "$1 $began" | awk '{ print $1 - $2 / 1e9 - 0.15 }')" \
			"$(echo "$after $began" | awk '{ print $1 - $2 / 1e9 + 0.15 }')"
	done
	expect_no_text "$work/out" "$(printf '\033')" 'escape of a span name'
}

# locks NAME TITLE LOCK N OTHER: it waits at the N-th place of the program that takes LOCK, and
# OTHER may hold that.
locks()
{
	part "$1"
	expect_text "$work/part" "^ *[123]\. $2  " 'name'
	expect_text "$work/part" "^    goroutine $(told "$1" 2) \[sync.Mutex.Lock\]$" 'waits'
	expect_text "$work/part" '^      sync.(\*Mutex).Lock  *sync/mutex.go:[0-9]*$' 'for'
	expect_text "$work/part" \
		"^      main.(\*service).$1  *stuck/main.go:$(line_of "s.$3.Lock()" "$4")\$" 'in'
	expect_text "$work/part" "^      may be held by: span $(told "$5" 4) .* (goroutine $(
		told "$5" 2), main.(\*service).$5 main.go:[0-9]*)\$" 'held by'
}

waits()
{
	part receive
	expect_text "$work/part" '^ *[123]\. receive message  ' 'name'
	expect_text "$work/part" "^    goroutine $(told receive 2) \[chan receive\]$" 'waits'
	expect_text "$work/part" \
		"^      main.(\*service).receive  *stuck/main.go:$(line_of '<-s.messages' 1)\$" 'in'
	# Its child has but the context.
	expect_text "$work/part" "^    goroutine $(told child 2) \[select\] by its context$" child
	expect_text "$work/part" \
		"^      main.(\*service).child  *stuck/main.go:$(line_of 'select {' 1)\$" 'child in'
	expect 'goroutines' "$(grep -c '^    goroutine' "$work/part")" 2
}

unharmed()
{
	kill -0 "$target" || fail 'the target is gone'
	kill -USR1 "$target"
	within 5 grep -q alive "$work/told" || fail 'the target does not answer'
	expect 'bytes of its text that differ' "$(text_differences "$target")" 0
}

deadlock()
{
	start stuck
	before=$(date +%s.%N)
	run 0 "$spanprof" dump -p "$target"
	dumped "$before"
	[ ! -s "$work/log" ] || fail "on stderr: $(cat "$work/log")"
	locks debit 'debit .\[31m account' ledger 1 credit
	locks credit 'credit account' accounts 2 debit
	waits
	# It need not run, and one capability is enough.
	kill -STOP "$target"
	run 0 setpriv --bounding-set -all,+sys_ptrace --inh-caps -all "$spanprof" dump -p "$target"
	expect_text "$work/out" '^3 open spans' 'stopped, with CAP_SYS_PTRACE alone'
	kill -CONT "$target"
	TERM=xterm script -qec "stty columns 80; '$spanprof' dump -p $target" "$work/typescript" \
		>"$work/screen"
	expect_text "$work/screen" "$(printf '\033\[1m')credit account" 'on a terminal'
	expect_within 'columns' "$(sed "s/$(printf '\033')\[[0-9]*m//g; s/\r//" "$work/screen" |
		LC_ALL=C.UTF-8 wc -L)" 60 80
	unharmed
}

refusals()
{
	says 1 "pid $target: its memory may not be read: run as root (sudo) or with CAP_SYS_PTRACE" \
		setpriv --bounding-set -sys_ptrace --inh-caps -sys_ptrace "$spanprof" dump -p "$target"
	end "$target" || :
	says 1 "pid 4194304: no such process" "$spanprof" dump -p 4194304
	sleep 100 &
	child "$!"
	says 1 "pid $!: it is not a Go program" "$spanprof" dump -p "$!"
	start plain -seconds 60
	says 1 "pid $target: it has no spans: it does not link the OpenTelemetry SDK" \
		"$spanprof" dump -p "$target"
	end "$target" || :
	export SPANPROF=off
	start stuck
	unset SPANPROF
	says 1 "pid $target: its environment says SPANPROF=off" "$spanprof" dump -p "$target"
	end "$target" || :
	says 2 'dump: name the process (-p PID)' "$spanprof" dump
	says 2 'dump: exactly one process (-p PID)' "$spanprof" dump -p 1,2
}

crowd()
{
	start stuck -crowd 10000
	began=$(date +%s.%N)
	run 0 "$spanprof" dump -p "$target" --verbose
	expect_within 'seconds for 10,003 open spans' "$(seconds_since "$began")" 0 2
	grep 'read in' "$work/log"
	expect_text "$work/out" '^10,003 open spans' head
	expect 'spans as told' \
		"$(awk '$1 == "trace" { print $2, $4 }' "$work/out" | sort | cksum)" \
		"$(awk 'NF == 5 && $1 != "child" { print $3, $4 }' "$work/told" | sort | cksum)"
	expect 'goroutines' "$(grep -c '^    goroutine' "$work/out")" 10004
	end "$target" || :
}

go_build tests/targets/stuck "$work/stuck"
go_build tests/targets/plain "$work/plain"
echo '-- a deadlock'
deadlock
echo '-- what cannot be dumped'
refusals
echo '-- a crowd'
crowd
verdict
