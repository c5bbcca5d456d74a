#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What users of other profilers and tracers have reported, each as a small case of its own: a line
# "report N (source): passed or failed: figure". The numbers count the reports that were collected.
# Tier: full
# Time limit: 240
#
#   tests/e2e/reports.sh BUILD_DIR
set -eu
spanprof=$(realpath "${1:?usage: reports.sh BUILD_DIR}")/spanprof
cd "$(dirname "$0")/../.."
. scripts/lib/go.sh
. scripts/lib/e2e.sh
. scripts/lib/shop.sh
. tests/targets/sturdy/run.sh
unset OTEL_EXPORTER_OTLP_ENDPOINT OTEL_EXPORTER_OTLP_PROFILES_ENDPOINT \
	OTEL_EXPORTER_OTLP_PROTOCOL OTEL_EXPORTER_OTLP_HEADERS

# report NUMBER SOURCE CONDITION FIGURE: the condition is one of awk, on numbers.
report()
{
	# What should be a number and is empty makes no expression.
	if awk "BEGIN { exit !($3) }" 2>/dev/null; then
		echo "report $1 ($2): passed: $4"
	else
		echo "report $1 ($2): failed: $4"
		fail "report $1: not so: $3"
	fi
}

# took WHAT: how long that was.
took()
{
	echo "-- $1: $(seconds_since "$last") s"
	last=$(date +%s.%N)
}

# ready FILE WHAT
ready()
{
	within 20 grep -q ready "$1" || fail "$2 does not start: $(cat "$1")"
}

# SDK service with /cpu-heavy and /io-wait: the IDs of the links are the SDK's.
links()
{
	shop_start "$work"
	child "$shop_pid"
	sink_start -status 200
	shop_profile 7 "$spanprof" -F 199 --otlp-endpoint "http://$sink_address" ||
		fail 'the shop was not profiled'
	shop_end "$shop_pid"
	end "$sink_pid" || fail "malformed requests: $(cat "$sink_dir/errors")"
	"$work/sink" list "$sink_dir"/request-*.otlp >"$work/links"
	sed -n 's/^span \([^ ]* [^ ]*\) trace=\([0-9a-f]*\) span=\([0-9a-f]*\) .*/\2 \3 \1/p' \
		"$work/shop.log" >"$work/printed"
	awk '
		FNR == NR {
			printed[$1] = $4
			if ($4 == "/cpu-heavy")
				heavy[$1 " " $2] = 1
			next
		}
		$1 == "link" {
			all += $4
			if (!($2 in printed))
				foreign++
			if (printed[$2] == "/io-wait")
				waiting += $4
			if ($2 " " $3 in heavy)
				linked++
		}
		$1 == "function" && $2 " " $3 in heavy && $4 == "main.countPrimes" { named++ }
		END {
			for (h in heavy)
				roots++
			printf "%d %d %d %d %.1f\n", roots, linked, named, foreign,
				all ? 100 * waiting / all : 100
		}' "$work/printed" "$work/links" >"$work/sums"
	read -r roots linked named foreign waiting <"$work/sums"
	report 1 'ebpf-profiler#264, pyroscope#3409' \
		"$linked >= 1 && $linked >= $roots - 1 && $named == $linked && $foreign == 0 &&
			$waiting < 5" \
		"$linked of $roots printed /cpu-heavy spans are linked and lead to main.countPrimes, \
$foreign links to what was not printed, $waiting % of the linked CPU in /io-wait"
}

# of_kinds FILE FIELD NAME...: samples, wrong and untagged of these kinds; the name is that field of
# a line, and the verdicts follow where the head of the table says.
of_kinds()
{
	table=$1 field=$2
	shift 2
	for kind; do
		awk -v name="$kind" -v at="$field" '$at == name {
			if (at == 1)
				print $2, $5, $6 # of verify
			else
				print $3, $5, $6 # of judge
			exit }' "$table"
	done | awk '{ samples += $1; wrong += $2; untagged += $3 }
		END { print samples + 0, wrong + 0, untagged + 0, NR }'
}

# count_kinds FILE FIELD NAME...: sets samples, wrong, untagged, and counted: of the names those
# that have samples.
count_kinds()
{
	of_kinds "$@" >"$work/sums"
	read -r samples wrong untagged counted <"$work/sums"
}

# An executable whose Go and SDK are of versions that nobody knows.
unknown_versions()
{
	go_now=$(go env GOVERSION)
	sdk_now=$(sed -n 's/.*otel\/sdk v//p' tests/targets/truth/go.mod)
	go_later=$(echo "$go_now" | sed 's/^go1\.[0-9][0-9]/go1.99/')
	sdk_later=$(echo "$sdk_now" | sed 's/^1\.[0-9][0-9]/1.97/')
	LC_ALL=C sed "s/$(echo "$go_now" | sed 's/\./\\./g')/$go_later/g
		s/v$(echo "$sdk_now" | sed 's/\./\\./g')/v$sdk_later/g" "$work/truth" >"$work/later"
	chmod +x "$work/later"
	go version -m "$work/later" >"$work/said"
	expect_text "$work/said" ": $go_later\$" 'Go version changed'
	expect_text "$work/said" "otel/sdk.v$sdk_later" 'SDK version changed'
}

# Workers older than the span, leaked spans, ended children: the program whose truth is known; and
# the same with unknown versions.
truth()
{
	unknown_versions
	processes=
	for name in truth later; do
		: >"$work/$name.out"
		"$work/$name" -seconds 60 -workers 6 -truth "$work/$name.jsonl" \
			>"$work/$name.out" 2>&1 &
		child $!
		processes="$processes,$!"
		ready "$work/$name.out" "$name"
	done
	run 0 "$spanprof" -p "${processes#,}" -F 499 -d 6 -o "$work/samples.jsonl"
	for process in $(echo "$processes" | tr , ' '); do
		end "$process" || fail "a truth program exited $?: $(cat "$work"/*.out)"
	done
	for name in truth later; do
		"$work/verify" truth -truth "$work/$name.jsonl" -samples "$work/samples.jsonl" \
			-freq 499 -show 5 >"$work/$name.verdict" 2>&1 || :
	done
	judge_truth
	judge_later
}

judge_truth()
{
	count_kinds "$work/truth.verdict" 1 pooled-span
	report 2 opentelemetry-ebpf-instrumentation#2794 \
		"$samples >= 10 && $wrong == 0 && $untagged <= 1" \
		"a pool's worker in the child of a handed context: $samples samples, $wrong wrong, \
$untagged untagged"
	count_kinds "$work/truth.verdict" 1 leaked after-leak
	report 3 opentelemetry-ebpf-instrumentation#2046 \
		"$samples >= 10 && $counted == 2 && $wrong == 0 && $untagged <= 1" \
		"a span never ended, then a new goroutine: $samples samples, $wrong wrong"
	count_kinds "$work/truth.verdict" 1 nested-middle-again nested-outer-again
	report 4 otel-profiling-java#44 \
		"$samples >= 10 && $counted == 2 && $wrong == 0 && $untagged <= 1" \
		"CPU behind the end of a child belongs to the parent: $samples samples, $wrong wrong, \
$untagged untagged"
}

judge_later()
{
	expect_text "$work/log" "attached to .*later.* $go_later, .*v$sdk_later" 'unknown versions seen'
	messages=$(grep -c 'warning: .*version' "$work/log" || :)
	total=$(sed -n 's/^ *total: //p' "$work/later.verdict")
	wrong=$(echo "$total" | cut -d ' ' -f 6)
	stacks=$(sed -n 's/.*stacks frame by frame: \([0-9.]*\) .*/\1/p' "$work/later.verdict")
	report 12 'opentelemetry-go-instrumentation#2469, odigos#5488, ebpf-profiler#1163' \
		"$wrong == 0 && ${total##* } >= 99 && $stacks >= 99 && $messages <= 2" \
		"$go_later, SDK $sdk_later: $total %, stacks $stacks %, $messages messages"
}

# shellcheck disable=SC2317 # called through within
is_done()
{
	grep -q '^done' "$work/patterns.out" || ! kill -0 "$1" 2>/dev/null
}

# time.AfterFunc inside a span: the rule of src/spans/README.md. The other kinds of this program are
# judged by patterns.sh.
timers()
{
	: >"$work/patterns.out"
	"$work/patterns" -truth "$work/patterns.jsonl" -cpu 30ms >"$work/patterns.out" 2>&1 &
	program=$!
	child "$program"
	ready "$work/patterns.out" patterns
	: >"$work/log"
	"$spanprof" -p "$program" -F 997 -o "$work/timers.jsonl" >"$work/report" 2>"$work/log" &
	profiler=$!
	child "$profiler"
	within 20 grep -q attached "$work/log" || fail "does not attach: $(cat "$work/log")"
	kill -USR1 "$program"
	within 60 is_done "$program" || fail 'patterns does not end'
	end "$profiler" INT || fail "spanprof exited $?: $(cat "$work/log")"
	end "$program" || fail "patterns: $(cat "$work/patterns.out")"
	"$work/judge" -truth "$work/patterns.jsonl" -samples "$work/timers.jsonl" -freq 997 \
		>"$work/patterns.verdict" 2>&1 || :
	count_kinds "$work/patterns.verdict" 2 timer-context
	lost=$((100 * untagged / (samples ? samples : 1)))
	count_kinds "$work/patterns.verdict" 2 timer-plain timer-context timer-ended
	report 6 golang/go#67708 \
		"$samples >= 60 && $counted == 3 && $wrong == 0 && $lost <= 10" \
		"time.AfterFunc in a span: $samples samples, $wrong wrong, $lost % of those with \
the context in use untagged"
}

# Deep recursion in spans while spanprof comes and goes; the program's own labels.
recursion()
{
	sturdy_pair
	for length in 1.2 KILL 1; do
		: >"$work/log"
		"$spanprof" -p "$target" -F 499 >"$work/report" 2>"$work/log" &
		profiler=$!
		child "$profiler"
		within 10 grep -q attached "$work/log" || fail "does not attach: $(cat "$work/log")"
		case $length in
		KILL) end "$profiler" KILL || : ;;
		*)
			sleep "$length"
			end "$profiler" INT || fail "spanprof exited $?: $(cat "$work/log")"
			;;
		esac
	done
	changed=$(text_differences "$target")
	spans=$(sed -n '1s/.* inside \([0-9]*\) spans.*/\1/p' "$work/report")
	failures=$e2e_failures
	sturdy_judge 10 >"$work/judged"
	sets=$(sed -n 's/^sets of labels read: //p' "$work/judged")
	for name in sturdy wanted; do
		sed 's/.* labels //' "$work/$name.out" >"$work/$name.labels"
	done
	differences=$(cmp -l "$work/sturdy.labels" "$work/wanted.labels" | wc -l)
	report 5 dd-trace-go#5204 "$differences == 0 && $sets >= 7" \
		"the program's own labels, with and without spanprof: $differences differences in \
$sets sets"
	report 13 'bcc#1320, golang/go#27077' \
		"$e2e_failures == $failures && $changed == 0 && $spans > 10" \
		"attached 3 times in mid-recursion: $(grep '^equal' "$work/judged")"
}

# 100,000 goroutines, 100 of them in spans.
many_goroutines()
{
	sturdy_serve 0 -parked 100000 -open 100
	sturdy_load -clients 8 -every 5ms
	rm -f "$work/windows"
	sturdy_episode 1 1.5 "$spanprof" -p "$sturdy_server" -F 99
	sturdy_end
	harm=0
	"$work/alone" latency -records "$work/records" -windows "$work/windows" >"$work/latency" ||
		harm=1
	cat "$work/latency"
	census=$(sed -n 's/.*: \(of [0-9]* goroutines .*\)/\1/p' "$work/log")
	inside=$(sed -n '1s/.* inside \([0-9]*\) spans.*/\1/p' "$work/report")
	report 17 golang/go#33250 "$harm == 0 && $attach_ms < 5000 && $inside > 10" \
		"p99 $(awk '{ if ($1 == "before") a = $4; if ($1 == "steady") b = $4 }
			END { printf "%s ms before, %s ms while profiled", a, b }' "$work/latency"), \
attached after $attach_ms ms, census: ${census:-still under way}"
}

# figures: what the server has done by now.
figures()
{
	told=$(grep -c figures "$work/serve.0" || :)
	kill -USR1 "$sturdy_server"
	within 10 figures_came "$told" || fail 'the server tells no figures'
	sed -n '$s/figures: //p' "$work/serve.0"
}

# shellcheck disable=SC2317
figures_came()
{
	[ "$(grep -c figures "$work/serve.0" || :)" -gt "$1" ]
}

# stretch KIND: a second of the load, added as a line "KIND wall_ns requests spans cpu_ns".
stretch()
{
	figures >"$work/from"
	sleep 1
	figures >"$work/to"
	paste -d ' ' "$work/from" "$work/to" |
		awk -v kind="$1" '{ print kind, $10 - $2, $12 - $4, $14 - $6, $16 - $8 }' \
			>>"$work/stretches"
}

# 10,000 requests a second, or what the machine gives: what a span costs.
many_requests()
{
	sturdy_serve 0 -parked 0
	sturdy_load -clients 20 -every 2ms
	: >"$work/stretches"
	for _ in 1 2; do
		stretch without
		: >"$work/log"
		"$spanprof" -p "$sturdy_server" --probe-budget 0 --verbose >"$work/report" \
			2>"$work/log" &
		profiler=$!
		child "$profiler"
		within 20 grep -q attached "$work/log" || fail "does not attach: $(cat "$work/log")"
		stretch with
		end "$profiler" INT || fail "spanprof exited $?: $(cat "$work/log")"
	done
	sturdy_end
	started=$(sed -n 's/.* spans_started: //p' "$work/log")
	spans=$(awk 'END { print $4 }' "$work/stretches")
	awk '{ wall[$1] += $2; requests[$1] += $3; spans[$1] += $4; cpu[$1] += $5 }
		END { printf "%.0f %.1f %.1f\n", requests["with"] / wall["with"] * 1e9,
			cpu["without"] / requests["without"] / 1000,
			(cpu["with"] / spans["with"] - cpu["without"] / spans["without"]) / 1000 }' \
		"$work/stretches" >"$work/sums"
	read -r rate alone_us added_us <"$work/sums"
	report 19 opentelemetry-ebpf-instrumentation#1025 \
		"$rate > 100 && $added_us < 10 && $started >= $spans" \
		"$rate requests/s with 3 spans and a go statement each: $alone_us us of CPU a request, \
added $added_us us a span"
}

last=$(date +%s.%N)
go_build tests/e2e/sink "$work/sink"
go_build tests/e2e/verify "$work/verify"
go_build tests/targets/patterns/judge "$work/judge"
go_build tests/targets/patterns "$work/patterns"
go_build tests/targets/truth "$work/truth"
shop_build "$work"
sturdy_build
took builds
links
took links
truth
took truth
timers
took timers
recursion
took recursion
many_goroutines
took 'many goroutines'
many_requests
took 'many requests'
verdict
