#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The Collector with deploy/observability/collector.yaml as it is, a real service's traces and its
# profiles through it: every Go span carries its own ID as Grafana wants it, every profiled span is
# among the traces, and nothing but the labels that Pyroscope shall have reaches it.
# Tier: full
# Time limit: 900
#
#   tests/e2e/observability.sh BUILD_DIR
#
# The sink stands for both backends; only addresses differ from what is deployed.
set -eu
spanprof=$(realpath "${1:?usage: observability.sh BUILD_DIR}")/spanprof
cd "$(dirname "$0")/../.."
. scripts/lib/go.sh
. scripts/lib/collector.sh
. scripts/lib/shop.sh
. scripts/lib/e2e.sh
unset OTEL_EXPORTER_OTLP_ENDPOINT OTEL_EXPORTER_OTLP_PROFILES_ENDPOINT \
	OTEL_EXPORTER_OTLP_PROTOCOL OTEL_EXPORTER_OTLP_HEADERS OTEL_SERVICE_NAME \
	OTEL_RESOURCE_ATTRIBUTES
deployed=deploy/observability/collector.yaml
gate=--feature-gates=service.profilesSupport

valid()
{
	# shellcheck disable=SC2154
	run 0 "$collector" validate --config "file:$deployed" "$gate"
	run 1 "$collector" validate --config "file:$deployed"
	expect_text "$work/log" 'profilesSupport' 'without the gate'
	sed 's/set(span.attributes/sat(span.attributes/' "$deployed" >"$work/broken.yaml"
	run 1 "$collector" validate --config "file:$work/broken.yaml" "$gate"
	expect_text "$work/log" 'sat' 'a statement that is none'
}

collector_start()
{
	http=$(free_address)
	grpc=$(free_address)
	sink_start -forwarded
	OTLP_HTTP_LISTEN=$http OTLP_GRPC_LISTEN=$grpc COLLECTOR_METRICS_LEVEL=none \
		TEMPO_ENDPOINT=http://$sink_address PYROSCOPE_ENDPOINT=http://$sink_address \
		"$collector" --config "file:$deployed" "$gate" >"$work/collector.log" 2>&1 &
	collector_pid=$!
	child "$collector_pid"
	within 20 grep -q 'Everything is ready' "$work/collector.log" || {
		tail -5 "$work/collector.log" >&2
		echo "$e2e_name: the Collector does not start" >&2
		exit 1
	}
}

# The shop's own SDK exports; it ends by itself when its load has, so that all spans are ended.
shop_under_load()
{
	OTEL_EXPORTER_OTLP_ENDPOINT=http://$http OTEL_BSP_MAX_QUEUE_SIZE=20000 \
		OTEL_RESOURCE_ATTRIBUTES='service.version=1.2.3,service.namespace=demo,service.instance.id=one-of-many,deployment.environment.name=e2e' \
		shop_start "$work" -load 14
	child "$shop_pid"
	"$spanprof" -p "$shop_pid" -d 9 --window 2 --otlp-endpoint "http://$http" \
		-o "$work/own.otlp" >"$work/out" 2>"$work/log" || fail "exit status $?: $(cat "$work/log")"
	sent=$(sed -n 's/.*delivered \([0-9]*\) samples in \([0-9]*\) request.*/\1 \2/p' "$work/log")
	wait "$shop_pid" || fail "the shop exited $?: $(tail -3 "$work/shop.log")"
	"$work/sink" foreign "http://$http/v1/traces" || fail 'the Collector refuses a trace'
}

figure()
{
	sed -n "s/^$1 //p" "$work/joined"
}

go_build tests/e2e/sink "$work/sink"
collector_build "$work"
valid
go_build tests/targets/shop "$work/shop" -tags otlp
collector_start
shop_under_load
# Ending, it sends what its queues hold.
end "$collector_pid" || fail "the Collector exited $?"
expect_no_text "$work/collector.log" 'error' 'no error in its log'
end "$sink_pid" || fail "what it sent on: $(cat "$sink_dir/errors")"
expect 'requests sent on' "$(grep -c '"request"' "$sink_dir/lines")" "${sent#* }"
expect 'samples sent on' "$(sink_figure values | sum)" "${sent% *}"

"$work/sink" list "$work/own.otlp" | sed -n 's/^resource \([^=]*\)=.*/\1/p' >"$work/own"
for key in process.pid host.name process.executable.name service.instance.id; do
	expect_text "$work/own" "^$key\$" 'spanprof sends'
done
"$work/sink" join "$sink_dir" >"$work/joined" 2>"$work/log" ||
	fail "$(cat "$work/log" "$work/joined")"
expect_within 'Go spans' "$(figure spans)" 100 100000
expect 'of these with their own ID as pyroscope.profile.id' "$(figure marked)" "$(figure spans)"
expect 'spans of another language, without' "$(figure foreign)" 1
expect_within 'spans with samples' "$(figure linked)" 20 100000
expect 'of these among the traces' "$(figure found)" "$(figure linked)"
expect 'services of the traces' "$(figure service)" shop
expect 'labels' "$(figure label | tr '\n' ' ')" \
	'deployment.environment.name service.name service.namespace service.version '
expect 'profile types' "$(figure type | tr '\n' ' ')" \
	'off_cpu:off_cpu:nanoseconds:: process_cpu:cpu:nanoseconds:cpu:nanoseconds '
verdict
