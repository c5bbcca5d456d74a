#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Each way in which services create, hand on, leak and inherit spans, by span ID: the samples of two
# programs that know the right tag of all they do (the rules: src/spans/README.md).
# Time limit: 300
#
#   tests/e2e/patterns.sh BUILD_DIR
set -eu
spanprof=$(realpath "${1:?usage: patterns.sh BUILD_DIR}")/spanprof
cd "$(dirname "$0")/../.."
. scripts/lib/go.sh
. scripts/lib/e2e.sh
unset OTEL_EXPORTER_OTLP_ENDPOINT OTEL_EXPORTER_OTLP_PROFILES_ENDPOINT \
	OTEL_EXPORTER_OTLP_PROTOCOL OTEL_EXPORTER_OTLP_HEADERS
# 200 samples of each of some 80 kinds within half a minute of two cores, also of busy ones.
hertz=499

# start NAME [FLAG...]: a program and its truth; sets program.
start()
{
	name=$1
	shift
	: >"$work/$name.out"
	"$work/$name" -truth "$work/$name.jsonl" "$@" >"$work/$name.out" 2>&1 &
	program=$!
	child "$program"
	within 20 grep -q ready "$work/$name.out" || fail "$name does not start"
}

# shellcheck disable=SC2317 # called through within
# is_probed PID: by the probe of span starts and that of `go` statements.
is_probed()
{
	[ "$(text_differences "$1")" -ge 2 ]
}

# shellcheck disable=SC2317
is_done()
{
	grep -q '^done' "$work/$1.out" || ! kill -0 "$2" 2>/dev/null
}

go_build tests/e2e/sink "$work/sink"
go_build tests/targets/patterns/judge "$work/judge"
go_build tests/targets/patterns "$work/patterns"
go_build tests/targets/patterns-oldgrpc "$work/oldgrpc"
(cd tests/targets/patterns && go test ./judge >"$work/log" 2>&1) || fail "$(cat "$work/log")"

start patterns
new=$program
start oldgrpc -workers 2
old=$program
sink_start -status 200
"$spanprof" -p "$new,$old" -F "$hertz" -d 200 -o "$work/samples.jsonl" -o "$work/samples.pb.gz" \
	--otlp-endpoint "http://$sink_address" >"$work/report" 2>"$work/log" &
profiler=$!
child "$profiler"
for process in "$new" "$old"; do
	within 20 is_probed "$process" || fail "pid $process is not probed: $(cat "$work/log")"
done
kill -USR1 "$new" "$old"
within 180 is_done patterns "$new" || fail 'patterns does not end'
within 20 is_done oldgrpc "$old" || fail 'oldgrpc does not end'
end "$profiler" INT || fail "spanprof exited $?: $(cat "$work/log")"
end "$new" || fail "patterns: $(cat "$work/patterns.out")"
end "$old" || fail "oldgrpc: $(cat "$work/oldgrpc.out")"
grep -h '^done' "$work"/*.out
end "$sink_pid" || fail "malformed requests: $(cat "$sink_dir/errors")"
"$work/sink" list "$sink_dir"/request-*.otlp >"$work/links"

"$work/judge" -truth "$work/patterns.jsonl" -truth "$work/oldgrpc.jsonl" -freq "$hertz" \
	-samples "$work/samples.jsonl" -pprof "$work/samples.pb.gz" -links "$work/links" ||
	fail 'samples with the wrong span, or too few with the right one'
verdict
