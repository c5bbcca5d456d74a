#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A real OpenTelemetry Collector takes what is sent over HTTP and over gRPC, and gives it back
# unchanged: the same samples, functions and span links, read by the official modules and by
# spanprof show.
# Tier: full
# Time limit: 900
#
#   tests/e2e/collector.sh BUILD_DIR
#
# The Collector is built from its modules (3 minutes of CPU) and kept in the user's cache.
set -eu
spanprof=$(realpath "${1:?usage: collector.sh BUILD_DIR}")/spanprof
cd "$(dirname "$0")/../.."
. scripts/lib/go.sh
. scripts/lib/collector.sh
. scripts/lib/shop.sh
. scripts/lib/e2e.sh
unset OTEL_EXPORTER_OTLP_ENDPOINT OTEL_EXPORTER_OTLP_PROFILES_ENDPOINT \
	OTEL_EXPORTER_OTLP_PROTOCOL OTEL_EXPORTER_OTLP_PROFILES_PROTOCOL

# collector_start SIGNAL EXPORTER[,EXPORTER]: a pipeline for that signal; sets collector_pid.
collector_start()
{
	http=$(free_address)
	grpc=$(free_address)
	sink_start -status 200
	: >"$work/received"
	cat >"$work/config.yaml" <<-YAML
		receivers:
		  otlp:
		    protocols:
		      http: {endpoint: $http}
		      grpc: {endpoint: $grpc}
		exporters:
		  file: {path: $work/received, format: proto, flush_interval: 100ms}
		  otlp_http: {endpoint: "http://$sink_address"}
		  debug:
		service:
		  telemetry: {metrics: {level: none}}
		  pipelines:
		    $1: {receivers: [otlp], exporters: [$2]}
	YAML
	"$collector" --config "file:$work/config.yaml" \
		--feature-gates=service.profilesSupport >"$work/collector.log" 2>&1 &
	collector_pid=$!
	child "$collector_pid"
	within 20 grep -q 'Everything is ready' "$work/collector.log" || {
		tail -5 "$work/collector.log" >&2
		echo "$e2e_name: the Collector does not start" >&2
		exit 1
	}
}

# What it sends on is well-formed but for two habits of its own, which no receiver minds: entry 0 of
# the attribute table has an empty value inside, and it names no version.
forwarded()
{
	end "$sink_pid" || :
	sed -e 's/"entry 0 of the attribute table has 2 bytes",\{0,1\}//' \
		-e 's/"header OTLP-Profiles-Development-Version is [^,]*"//' "$sink_dir/lines" |
		grep '"request"' >"$work/figures" || :
	expect 'requests that it sent on, well-formed' \
		"$(grep -c '"problems":\[\]' "$work/figures")" "${sent#* }"
	expect 'samples sent on' "$(sink_figure values | sum)" "${sent% *}"
	"$work/sink" list "$sink_dir"/request-*.otlp >"$work/list"
	same_as_own 'sent on'
}

# Services, spans, their values and their functions, line by line.
same_as_own()
{
	diff "$work/own" "$work/list" >"$work/diff" ||
		fail "$1: not what was sent: $(head -20 "$work/diff")"
	expect "$1: spans linked" "$(grep -c ^link "$work/list")" "$(grep -c ^link "$work/own")"
	echo "$1: lines compared: $(wc -l <"$work/list")"
}

# there_and_back PROTOCOL
there_and_back()
{
	e2e_case="$1: "
	collector_start profiles file,otlp_http
	endpoint=http://$http
	[ "$1" != grpc ] || endpoint=http://$grpc
	OTEL_EXPORTER_OTLP_PROTOCOL=$1 "$spanprof" -p "$shop_pid" -d 7 --window 2 \
		--otlp-endpoint "$endpoint" -o "$work/own.otlp" >"$work/out" 2>"$work/log" ||
		fail "exit status $?: $(cat "$work/log")"
	sent=$(sed -n 's/.*delivered \([0-9]*\) samples in \([0-9]*\) request.*/\1 \2/p' "$work/log")
	end "$collector_pid" || fail "the Collector exited $?"
	"$work/sink" list "$work/own.otlp" >"$work/own"
	rm -rf "$work/messages"
	mkdir "$work/messages"
	"$work/sink" unframe "$work/received" "$work/messages" || fail 'no messages in its file'
	expect 'messages in its file' "$(find "$work/messages" -type f | wc -l)" "${sent#* }"
	expect_within 'requests' "${sent#* }" 4 6
	forwarded
	"$work/sink" list "$work"/messages/*.otlp >"$work/list"
	same_as_own 'in its file'
	"$spanprof" show "$work"/messages/*.otlp >"$work/shown" || fail "show: exit status $?"
	tr -d , <"$work/shown" >"$work/shown.plain"
	expect_text "$work/shown.plain" "${sent% *} samples .* inside" 'spanprof show'
	span=$(sed -n 's/^function [0-9a-f]* \([0-9a-f]*\) main.countPrimes$/\1/p' "$work/list" |
		head -1)
	"$spanprof" show "$work"/messages/*.otlp --span "$span" >"$work/shown" ||
		fail "show --span: exit status $?"
	expect_text "$work/shown" 'main\.\(countPrimes\|isPrime\)' "spanprof show --span $span"
	e2e_case=
}

wrong_port()
{
	collector_start profiles file
	run 1 "$spanprof" -p "$shop_pid" -d 1 --otlp-endpoint "http://$grpc"
	expect_text "$work/log" 'is it a gRPC port?' 'its gRPC port'
	run 1 env OTEL_EXPORTER_OTLP_PROTOCOL=grpc \
		"$spanprof" -p "$shop_pid" -d 1 --otlp-endpoint "http://$http"
	expect_text "$work/log" 'is it an OTLP/HTTP port?' 'its HTTP port, over gRPC'
	end "$collector_pid" || fail "the Collector exited $?"
	collector_start traces debug
	run 1 "$spanprof" -p "$shop_pid" -d 1 --otlp-endpoint "http://$http"
	expect_text "$work/log" 'HTTP 404.*profiles pipeline' 'no profiles pipeline'
	run 1 env OTEL_EXPORTER_OTLP_PROTOCOL=grpc \
		"$spanprof" -p "$shop_pid" -d 1 --otlp-endpoint "http://$grpc"
	expect_text "$work/log" 'UNIMPLEMENTED.*profiles pipeline.*request dropped' \
		'no profiles pipeline, over gRPC'
	end "$collector_pid" || fail "the Collector exited $?"
}

go_build tests/e2e/sink "$work/sink"
collector_build "$work"
shop_build "$work"
shop_start "$work" -load 60
child "$shop_pid"
there_and_back http/protobuf
there_and_back grpc
wrong_port
verdict
