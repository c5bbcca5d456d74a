#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# OTLP to a receiver made of the official modules: well-formed, complete, with the spans' own IDs and
# the service's own name; and what is said when the receiver is down, busy or something else.
# Time limit: 150
#
#   tests/e2e/otlp.sh BUILD_DIR
set -eu
spanprof=$(realpath "${1:?usage: otlp.sh BUILD_DIR}")/spanprof
cd "$(dirname "$0")/../.."
. scripts/lib/go.sh
. scripts/lib/shop.sh
. scripts/lib/e2e.sh
unset OTEL_EXPORTER_OTLP_ENDPOINT OTEL_EXPORTER_OTLP_PROFILES_ENDPOINT \
	OTEL_EXPORTER_OTLP_PROTOCOL OTEL_EXPORTER_OTLP_HEADERS OTEL_SERVICE_NAME \
	OTEL_RESOURCE_ATTRIBUTES

# versioned_build: a program whose build information says v1.2.3, as a release's does.
versioned_build()
{
	cp -R tests/targets/plain "$work/plain"
	(
		cd "$work/plain"
		git init -q .
		git add .
		git -c user.name=test -c user.email=test@localhost commit -q -m test
		git tag v1.2.3
	)
	go_build "$work/plain" "$work/versioned" -buildvcs=true
}

go_build tests/e2e/sink "$work/sink"
shop_build "$work"
versioned_build

# The resource attributes of all that the sink kept.
resources()
{
	"$work/sink" list "$sink_dir"/request-*.otlp | sed -n 's/^resource //p'
}

expect_resource()
{
	expect "resource $1" "$(resources | sed -n "s/^$1=//p")" "$2"
}

# A request may have no problem; the sink says so itself when it ends.
expect_well_formed()
{
	end "$sink_pid" || fail "malformed requests: $(cat "$sink_dir/errors" "$sink_dir/lines")"
}

# Numbers are printed with thousands separators.
report_samples()
{
	sed -n '1s/.* \([0-9,]*\) samples\{0,1\} .*/\1/p' "$1" | tr -d ,
}

delivers_all()
{
	OTEL_SERVICE_NAME='shop of caf%C3%A9' \
		OTEL_RESOURCE_ATTRIBUTES='service.name=overridden,service.version=1.2%2B3,service.namespace=caf%C3%A9,service.instance.id= i%2C1 ,deployment.environment.name=e2e,team=hush-hush,host.name=elsewhere' \
		ACCESS_TOKEN=hush-hush shop_start "$work"
	sink_start
	child "$shop_pid"
	began=$(date +%s%N)
	"$spanprof" -p "$shop_pid" --otlp-endpoint "http://$sink_address" --window 3 -d 10 \
		>"$work/out" 2>"$work/log" &
	profiler=$!
	child "$profiler"
	within 10 grep -q attached "$work/log" || fail "does not attach: $(cat "$work/log")"
	"$work/shop" load -to "$shop_address" -seconds 7 >"$work/load.log" 2>&1 ||
		fail "the load: $(cat "$work/load.log")"
	status=0
	wait "$profiler" || status=$?
	ended=$(date +%s%N)
	expect 'exit status' "$status" 0
	end "$shop_pid" || fail "the shop exited $?"
	expect_well_formed
	expect_text "$work/log" "sending profiles to http://$sink_address/v1development/profiles$" said
	expect_within 'windows in 10 s of 3 s' "$(sink_figure request | wc -l)" 3 6
	expect 'values of all requests' "$(sink_figure values | sum)" "$(report_samples "$work/out")"
	expect_text "$work/log" "delivered $(sink_figure values | sum) samples in" said
	expect_within 'seconds on no CPU, of all requests' \
		"$(sink_figure off_cpu_ns | awk '{ sum += $1 } END { print sum / 1e9 }')" 2 200
	sink_figure values >"$work/values"
	sink_figure linked_values | sum >"$work/linked"
	expect_within 'percent inside spans' "$(sum <"$work/values" |
		awk -v linked="$(cat "$work/linked")" '{ print linked / $1 * 100 }')" 80 100
	times_are_wall_time
	links_are_the_shops
	resource_is_the_services
	bytes=$(sink_figure wire_bytes | sum)
	echo "gzip bytes per sample on the wire: $(sum <"$work/values" |
		awk -v bytes="$bytes" '{ printf "%.0f\n", bytes / $1 }')"
}

times_are_wall_time()
{
	sink_figure time_unix_nano >"$work/starts"
	sink_figure duration_nano >"$work/durations"
	# The run sets up first: its first window starts within 2 s of `date`, its last one ends so.
	awk -v first="$(head -1 "$work/starts")" -v began="$began" -v ended="$ended" \
		-v last="$(tail -1 "$work/starts")" -v long="$(tail -1 "$work/durations")" 'BEGIN {
		printf "%.3f %.3f\n", (first - began) / 1e9, (ended - last - long) / 1e9 }' \
		>"$work/offsets"
	expect_within 'seconds from date to the first window' \
		"$(cut -d ' ' -f 1 "$work/offsets")" 0 2
	expect_within 'seconds from the last window to date' \
		"$(cut -d ' ' -f 2 "$work/offsets")" 0 2
	paste "$work/starts" "$work/durations" | awk 'NR > 1 { gap = ($1 - end) / 1e6
		if (gap < 0) gap = -gap; if (gap > most) most = gap } { end = $1 + $2 }
		END { printf "%.3f\n", most }' >"$work/gap"
	expect_within 'milliseconds between windows, the most' "$(cat "$work/gap")" 0 5
	expect_within 'seconds from a window to its request, the most' \
		"$(sink_figure age_seconds | sort -n | tail -1)" 0 1
}

# Only the first request of a client may have begun before the probe was there.
links_are_the_shops()
{
	"$work/sink" list "$sink_dir"/request-*.otlp >"$work/list"
	sed -n 's/^link \([0-9a-f]*\) \([0-9a-f]*\) .*/\1 \2/p' "$work/list" >"$work/links"
	sed -n 's/^span .* trace=\([0-9a-f]*\) span=\([0-9a-f]*\) .*/\1 \2/p' "$work/shop.log" \
		>"$work/printed"
	expect 'links whose trace the shop did not print' "$(cut -d ' ' -f 1 "$work/links" |
		sort -u | grep -vxFc -f "$(cut -d ' ' -f 1 "$work/printed" >"$work/traces"
			echo "$work/traces")")" 0
	sed -n 's/^span GET .cpu-heavy trace=\([0-9a-f]*\) span=\([0-9a-f]*\) .*/\1 \2/p' \
		"$work/shop.log" >"$work/heavy"
	heavy=$(wc -l <"$work/heavy")
	expect_within 'requests GET /cpu-heavy' "$heavy" 3 20
	expect 'of them linked' "$(grep -cxF -f "$work/heavy" "$work/links")" "$heavy"
	while read -r trace span; do
		grep -q "^function $trace $span main.countPrimes$" "$work/list" ||
			fail "span $span has no main.countPrimes"
	done <"$work/heavy"
	echo "distinct links: $(wc -l <"$work/links")"
}

resource_is_the_services()
{
	# The SDK takes OTEL_SERVICE_NAME as it is, and decodes OTEL_RESOURCE_ATTRIBUTES.
	expect_resource service.name 'shop of caf%C3%A9'
	expect_resource service.version 1.2+3
	expect_resource service.namespace café
	expect_resource service.instance.id i,1
	expect_resource deployment.environment.name e2e
	expect_resource process.pid "$shop_pid"
	expect_resource process.executable.name shop
	expect_resource host.name "$(hostname)"
	expect 'resource attributes' "$(resources | wc -l)" 8
	expect_no_text "$work/list" 'hush-hush\|elsewhere\|overridden' 'leaks of the environment'
	for file in "$sink_dir"/request-*.otlp; do
		expect_no_text "$file" 'hush-hush\|elsewhere\|overridden' 'leaks of the environment'
	done
}

# Without the variables: the executable, and what Go recorded in it. The endpoint from ours.
bare_environment()
{
	"$work/versioned" -seconds 60 >"$work/versioned.out" &
	versioned=$!
	child "$versioned"
	sink_start
	run 0 env "OTEL_EXPORTER_OTLP_ENDPOINT=http://$sink_address" OTEL_SERVICE_NAME=the-agent \
		"$spanprof" -p "$versioned" -d 2 --window 1
	end "$versioned" || fail "the program exited $?"
	expect_well_formed
	expect_text "$work/log" \
		"sending profiles to http://$sink_address/v1development/profiles (from the environment)" said
	expect_resource service.name versioned
	expect_resource service.version v1.2.3
	expect 'resource attributes' "$(resources | wc -l)" 5
}

# bad_receiver NAME STATUS ADDRESS EXPRESSION...: 2 s against it: the report is printed all the same,
# the exit status tells, and a line for each EXPRESSION.
bad_receiver()
{
	e2e_case="$1: " wanted=$2 address=$3
	shift 3
	began=$(date +%s.%N)
	run "$wanted" "$spanprof" -p "$shop_pid" -d 2 --window 1 --otlp-endpoint "http://$address"
	expect_within 'seconds' "$(seconds_since "$began")" 2 "${seconds_max:-7}"
	expect_text "$work/out" 'samples .* CPU .* inside' 'report'
	for expression; do
		expect_text "$work/log" "$expression" said
	done
	lines=$(grep -c 'OTLP:\|delivered' "$work/log")
	expect_within 'lines about it' "$lines" 1 3
	LC_ALL=C expect_no_text "$work/log" '[[:cntrl:]]' 'control characters'
	e2e_case=
}

bad_receivers()
{
	shop_start "$work" -load 60
	child "$shop_pid"
	sink_start
	end "$sink_pid" || :
	bad_receiver down 1 "$sink_address" "OTLP: http://$sink_address/.*: .*[Cc]onnect.*will try again" \
		'^spanprof: error: .* of .* samples were not delivered: .*[Cc]onnect'
	sink_start -status 503 -times 1
	bad_receiver '503 once' 0 "$sink_address" 'HTTP 503.*will try again' 'works again' \
		'delivered [0-9]* samples'
	expect 'values received' "$(sink_figure values | tail -n +2 | sum)" \
		"$(report_samples "$work/out")"
	expect_well_formed
	sink_start -status 503 -retry-after 600
	bad_receiver '503 for good' 1 "$sink_address" 'HTTP 503' \
		'samples were not delivered: HTTP 503'
	expect_well_formed
	sink_start -garbage
	bad_receiver garbage 1 "$sink_address" 'the answer is not OTLP' \
		'samples were not delivered: HTTP 200, but the answer is not OTLP'
	expect_well_formed
	sink_start -status 400
	bad_receiver '400' 1 "$sink_address" 'HTTP 400' 'samples were not delivered: HTTP 400'
	expect_well_formed
	sink_start -partial 'too many of them'
	bad_receiver partial 1 "$sink_address" 'rejected 1 profiles: too many of them'
	expect_well_formed
	sink_start -grpc
	bad_receiver 'gRPC port' 1 "$sink_address" 'is it a gRPC port?.*4318' \
		'samples were not delivered'
	expect_well_formed
	sink_start -delay 60s
	# What is on its way when the run ends is waited for, at most 5 s.
	seconds_max=9 bad_receiver silent 1 "$sink_address" 'samples were not delivered'
	end "$sink_pid" || :
}

# A second signal, while what is left waits for a receiver that does not answer, ends it at once.
impatience()
{
	sink_start -delay 60s
	"$spanprof" -p "$shop_pid" --window 1 --otlp-endpoint "http://$sink_address" \
		>"$work/out" 2>"$work/log" &
	profiler=$!
	child "$profiler"
	sleep 2
	kill -TERM "$profiler"
	sleep 1.5
	began=$(date +%s.%N)
	end "$profiler" || :
	expect_within 'seconds after the second signal' "$(seconds_since "$began")" 0 1.5
	expect 'exit status' "$e2e_status" 1
	expect_text "$work/log" 'error: interrupted before all was written and delivered' said
	end "$sink_pid" || :
}

delivers_all
bare_environment
bad_receivers
impatience
verdict
