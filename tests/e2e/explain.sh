#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Within a second what spanprof attached to, and within five why nothing is tagged: no SDK, no
# provider, nothing sampled, no traffic; and no such sentence where there are spans.
# Time limit: 120
#
#   tests/e2e/explain.sh BUILD_DIR
set -eu
spanprof=$(realpath "${1:?usage: explain.sh BUILD_DIR}")/spanprof
cd "$(dirname "$0")/../.."
. scripts/lib/go.sh
. scripts/lib/e2e.sh

# profile NAME OPTION...: its log as NAME.log, each line behind the seconds since the start.
profile()
{
	name=$1
	shift
	sleep 1
	{
		began=$(date +%s.%N)
		{
			"$spanprof" -d 7 "$@" 2>&1 >"$work/$name.report" || echo "exit status $?"
		} | while read -r line; do
			printf '%s %s\n' "$(seconds_since "$began")" "$line"
		done
	} >"$work/$name.log" &
	child "$!"
	pids="$pids $!"
}

# said NAME EXPRESSION LEAST MOST WHAT: when the first such line came.
said()
{
	expect_text "$work/$1.log" "$2" "$5"
	expect_within "$5, after seconds" "$(grep -m 1 -e "$2" "$work/$1.log" | cut -d ' ' -f 1)" "$3" "$4"
}

go_build tests/targets/plain "$work/plain"
for mode in noprovider unsampled idle spans; do
	(cd tests/targets/plain && go build -o "$work/$mode" ./sdk)
	OTEL_SERVICE_NAME=$mode nice -n 19 "$work/$mode" -mode "$mode" -seconds 60 \
		>"$work/$mode.out" &
	child "$!"
	eval "$mode=$!"
done
nice -n 19 "$work/plain" -seconds 60 >"$work/plain.out" &
plain=$!
child "$plain"
pids=
# shellcheck disable=SC2154 # set by eval
for mode in noprovider unsampled idle spans; do
	eval "profile $mode -p \$$mode"
done
profile plain -p "$plain"
profile exe --exe idle
profile command -- env OTEL_SERVICE_NAME=idle nice -n 19 "$work/idle" -mode idle -seconds 60
for pid in $pids; do
	wait "$pid" || fail "a run failed"
done

sdk='go1\.[0-9.]*, OpenTelemetry SDK v1\.[0-9.]*, span starts seen at [a-zA-Z.]*'
waiting='no span has started yet: no traffic, no TracerProvider set .*, or nothing sampled'
# On an idle machine it is within five seconds.
for mode in noprovider unsampled idle exe command; do
	e2e_case="$mode: "
	said "$mode" "attached to .*: $sdk" 0 2 'attached'
	said "$mode" "$waiting" 3 6 'why nothing is tagged'
	expect_text "$work/$mode.report" 'samples .* inside 0 spans' report
	expect_no_text "$work/$mode.log" 'exit status' 'exit status'
done
e2e_case='plain: '
said plain 'attached to .*: go1[0-9.]*, no OpenTelemetry SDK' 0 2 'attached'
said plain 'does not link the OpenTelemetry SDK' 0 3 'why nothing is tagged'
expect_text "$work/plain.report" 'samples .* inside 0 spans' report
expect_text "$work/plain.report" 'burn.Words' 'profiled all the same'
e2e_case='spans: '
said spans "attached to .*: $sdk" 0 2 'attached'
expect_no_text "$work/spans.log" 'no span has\|not tagged' 'nothing to explain'
expect_text "$work/spans.report" ' inside [1-9][0-9,]* spans' report
e2e_case=
verdict
