#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The whole host: services that run, one that comes later, short-lived ones, a program without spans
# and one that opted out, all at once; selection by name; and no probe afterwards.
# Time limit: 150
#
#   tests/e2e/host.sh BUILD_DIR
#
# Other Go programs may run beside, even the same: services have names of their own.
set -eu
spanprof=$(realpath "${1:?usage: host.sh BUILD_DIR}")/spanprof
cd "$(dirname "$0")/../.."
. scripts/lib/go.sh
. scripts/lib/shop.sh
. scripts/lib/e2e.sh

# start NAME COMMAND...: in the background; sets started.
start()
{
	name=$1
	shift
	"$@" >"$work/$name.out" 2>&1 &
	started=$!
	child "$started"
}

ticks()
{
	awk '{ print $14 + $15 }' "/proc/$1/stat"
}

unique=e2e-$$
# of SERVICE: its part of the profile as $work/SERVICE.list; sets samples.
of()
{
	"$spanprof" show "$work/host.otlp" --service "$unique-$1" -o "$work/$1.otlp" 2>"$work/log" ||
		fail "show --service $1: $(cat "$work/log")"
	"$work/sink" list "$work/$1.otlp" >"$work/$1.list"
	samples=$(awk '/^link/ { sum += $4 } /^unlinked/ { sum += $2 } END { print sum + 0 }' \
		"$work/$1.list")
}

linked_percent()
{
	awk -v all="$samples" '/^link/ { sum += $4 } END { printf "%.1f\n", sum * 100 / all }' \
		"$work/$1.list"
}

# foreign_links SERVICE FIELD IDS: links of the service whose ID is none of those in the file.
foreign_links()
{
	sed -n 's/^link //p' "$work/$1.list" | cut -d ' ' -f "$2" | sort -u >"$work/linked"
	grep -vxFc -f "$3" "$work/linked" || :
}

whole_host()
{
	OTEL_SERVICE_NAME=$unique-shop shop_start "$work" -load 60
	child "$shop_pid"
	start versioned env "OTEL_SERVICE_NAME=$unique-versioned" "$work/versioned" -seconds 60
	plain=$started
	start optedout env SPANPROF=off "OTEL_SERVICE_NAME=$unique-optedout" "$work/optedout" -seconds 60
	# shellcheck disable=SC2016
	start loop env "OTEL_SERVICE_NAME=$unique-loop" sh -c 'while :; do :; done'
	loop=$started
	: >"$work/host.log"
	"$spanprof" -F 99 -d 9 -o "$work/host.otlp" >"$work/out" 2>"$work/host.log" &
	profiler=$!
	child "$profiler"
	within 10 grep -q "attached to $work/versioned" "$work/host.log" || fail 'does not attach'
	before=$(ticks "$plain")
	sleep 0.5
	expect 'bytes of the shop changed' "$(text_differences "$shop_pid")" "$probe_bytes"
	start truth env "OTEL_SERVICE_NAME=$unique-truth" "$work/truth" -seconds 5 -workers 2 -truth "$work/truth.jsonl"
	truth=$started
	for _ in 1 2 3 4 5; do
		OTEL_SERVICE_NAME=$unique-early "$work/early"
	done >"$work/early.out"
	wait "$truth" || fail "truth: $(cat "$work/truth.out")"
	status=0
	wait "$profiler" || status=$?
	after=$(ticks "$plain")
	expect 'exit status' "$status" 0
	expect 'bytes of report beside a file' "$(wc -c <"$work/out")" 0
	expect 'bytes of the shop changed afterwards' "$(text_differences "$shop_pid")" 0
	end "$loop" || :
}

services()
{
	of shop
	e2e_case='shop: '
	end "$shop_pid" || fail "exited $?"
	sed -n 's/^span .* trace=\([0-9a-f]*\) .*/\1/p' "$work/shop.log" >"$work/traces"
	expect_within 'samples' "$samples" 50 2000
	expect_within 'percent inside spans' "$(linked_percent shop)" 50 100
	expect 'traces that it did not print' "$(foreign_links shop 1 "$work/traces")" 0
	expect_text "$work/shop.list" '^function .* main.countPrimes$' named

	e2e_case='started later: '
	of truth
	sed -n 's/^{"span":"\([0-9a-f]*\)".*/\1/p' "$work/truth.jsonl" >"$work/ids"
	expect_within 'samples' "$samples" 50 2000
	expect_within 'percent inside spans' "$(linked_percent truth)" 50 100
	expect 'spans that it did not issue' "$(foreign_links truth 2 "$work/ids")" 0

	e2e_case='without the SDK: '
	of versioned
	expect_within 'percent of its CPU time seen' "$(awk -v samples="$samples" \
		-v ticks=$((after - before)) -v hertz="$(getconf CLK_TCK)" \
		'BEGIN { printf "%.1f\n", samples / 99 / (ticks / hertz) * 100 }')" 60 120
	expect 'links' "$(grep -c ^link "$work/versioned.list")" 0
	expect_text "$work/versioned.list" '^resource process.executable.name=versioned$' resource

	e2e_case='short-lived: '
	of early
	cpu_us=$(sed -n 's/.*cpu_us=//p' "$work/early.out" | sum)
	expect_within 'percent of its CPU time seen' "$(awk -v samples="$samples" \
		-v us="$cpu_us" 'BEGIN { printf "%.1f\n", samples / 99 / us * 1e8 }')" 60 135
	# On a loaded machine one may be gone before it was read.
	expect_within 'processes of five' "$(grep -c '^resource process.pid=' "$work/early.list")" 3 5
	sed -n 's/.*span=\([0-9a-f]*\) .*/\1/p' "$work/early.out" >"$work/ids"
	expect 'spans that they did not issue' "$(foreign_links early 2 "$work/ids")" 0
	expect_within 'spans of the five linked' "$(grep -c ^link "$work/early.list")" 3 5

	e2e_case=
	for name in optedout loop; do
		of "$name"
		expect "samples of $name" "$samples" 0
	done
	expect_no_text "$work/host.log" "$work/optedout" 'attached to what opted out'
}

# selected NAME WANTED OPTION...: which of the two programs were profiled in a second.
selected()
{
	e2e_case="$1: " wanted=$2
	shift 2
	run 0 "$spanprof" "$@" -d 1 -o "$work/host.folded"
	expect 'profiled' "$(cut -d ';' -f 1 "$work/host.folded" | sort -u |
		sed -n "s/^$unique-//p" | grep -x 'versioned\|truth' | xargs)" "$wanted"
	e2e_case=
}

selection()
{
	start truth env "OTEL_SERVICE_NAME=$unique-truth" "$work/truth" -seconds 30 -workers 2
	selected 'no option' 'truth versioned'
	selected 'include' versioned --include versioned
	selected 'include a path' versioned --include "$work/v*"
	selected 'include two' 'truth versioned' --include versioned --include truth
	selected 'exclude' truth --exclude 'vers*'
	selected 'exclude wins' truth --include "$work/*" --exclude versioned
	expect 'bytes of report' "$(wc -c <"$work/out")" 0
	selected 'exe' versioned --exe versioned
	expect_text "$work/out" "service ($unique-versioned)" report
	run 1 "$spanprof" --exe no-such-program -d 1
	expect_text "$work/log" 'nothing was profiled: no running Go program that matches --exe' said
	run 1 "$spanprof" -p "$(pgrep -xf "$work/optedout -seconds 60")" -d 1
	expect_text "$work/log" 'SPANPROF=off' 'opted out, asked for by pid'
}

probe_bytes=2
[ "$(uname -m)" = x86_64 ] || probe_bytes=8
go_build tests/e2e/sink "$work/sink"
shop_build "$work"
go_build tests/targets/truth "$work/truth"
go_build tests/targets/plain "$work/versioned"
cp "$work/versioned" "$work/optedout"
(cd tests/targets/plain && go build -o "$work/early" ./early)
whole_host
services
selection
verdict
