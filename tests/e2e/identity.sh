#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A profile names its service as the service's own traces do, wherever that is set: in the
# environment, in code, in both or nowhere. The service tells what its exporter was given.
# Time limit: 900
#
#   tests/e2e/identity.sh BUILD_DIR
set -eu
spanprof=$(realpath "${1:?usage: identity.sh BUILD_DIR}")/spanprof
cd "$(dirname "$0")/../.."
. scripts/lib/go.sh
. scripts/lib/e2e.sh
unset OTEL_EXPORTER_OTLP_ENDPOINT OTEL_EXPORTER_OTLP_PROFILES_ENDPOINT OTEL_SERVICE_NAME \
	OTEL_RESOURCE_ATTRIBUTES

said='OTEL_SERVICE_NAME=named-outside OTEL_RESOURCE_ATTRIBUTES=service.version=1%2C0,service.namespace=outside,service.instance.id=outside-1,deployment.environment.name=production,deployment.environment=prod,team=hidden'
attributes='service\.name\|service\.version\|service\.namespace\|service\.instance\.id\|deployment\.environment\|deployment\.environment\.name'

# resource_of FILE: what it says of the service, a line each.
resource_of()
{
	grep "^resource \($attributes\)=" "$1" | sort
}

# listed FILE...: in $work/list what the requests in these say.
listed()
{
	"$work/sink" check "$@" >"$work/figures" || fail "malformed: $(cat "$work/figures")"
	"$work/sink" list "$@" >"$work/list"
}

# expect_same OUTPUT: the service printed there what $work/list has; but for a name, which traces
# may lack and profiles may not.
expect_same()
{
	resource_of "$1" >"$work/told"
	grep -q '^resource service.name=' "$work/told" ||
		echo 'resource service.name=identity' >>"$work/told"
	expect 'attributes' "$(resource_of "$work/list" | tr '\n' ' ')" \
		"$(sort "$work/told" | tr '\n' ' ')"
	expect_no_text "$work/list" 'hidden\|not taken' 'more than is asked for'
}

# profiled ENVIRONMENT FLAG...: a service that runs already.
profiled()
{
	environment=$1
	shift
	e2e_case="$build${environment:+, environment}, $*: "
	# shellcheck disable=SC2086 # none, or several
	env $environment "$work/identity" "$@" >"$work/service" 2>&1 &
	service=$!
	child "$service"
	within 10 grep -q '^ready' "$work/service" || fail "does not start: $(cat "$work/service")"
	run 0 "$spanprof" -p "$service" -d 1 -o "$work/a.otlp"
	end "$service" || fail "the service exited $?"
	listed "$work/a.otlp"
	expect_same "$work/service"
	expect_text "$work/list" "^resource process.pid=$service\$" 'beside it'
	expect_within 'links' "$(grep -c '^link' "$work/list")" 1 10000
	e2e_case=
}

# Every way to say it, with the provider set for all or not.
ways()
{
	for environment in '' "$said"; do
		profiled "$environment" -set none
		profiled "$environment" -set none -global
		profiled "$environment" -set code
		profiled "$environment" -set merged -global
		profiled "$environment" -set crowd
		profiled "$environment" -set bare -global
	done
}

# It says who it is after 1.5 s of work: what is written of the whole run knows it all the time.
later()
{
	e2e_case='later: '
	run 0 "$spanprof" -d 3 -o "$work/a.otlp" -- "$work/identity" -set code -after 1500ms
	listed "$work/a.otlp"
	expect_same "$work/out"
	expect_text "$work/out" '1 service (named in code)' report
	expect_text "$work/log" 'pid [0-9]*: service named in code, by its traces$' said
	expect_within 'samples outside spans' "$(sed -n 's/^unlinked //p' "$work/list")" 20 300
	e2e_case=
}

# Of what is sent each window has one name: at first that of the executable, at last its own.
windows()
{
	e2e_case='windows: '
	sink_start -status 200
	run 0 "$spanprof" -d 5 --window 1 --otlp-endpoint "http://$sink_address" \
		-- "$work/identity" -set code -after 2500ms
	end "$sink_pid" || fail "malformed: $(cat "$sink_dir/errors" "$sink_dir/lines")"
	: >"$work/names"
	for file in "$sink_dir"/request-*.otlp; do
		listed "$file"
		grep '^resource service.name=' "$work/list" | xargs -d '\n' >>"$work/names"
	done
	expect 'first window' "$(head -n 1 "$work/names")" 'resource service.name=identity'
	expect 'last window' "$(tail -n 1 "$work/names")" 'resource service.name=named in code'
	expect 'names, in order' "$(uniq "$work/names" | wc -l)" 2
	expect_same "$work/out"
	e2e_case=
}

# Two providers in one process: the first one read counts, and that is told.
two_providers()
{
	e2e_case='two providers: '
	run 0 "$spanprof" -d 15 -o "$work/a.otlp" -- "$work/identity" -set code -second 2s
	listed "$work/a.otlp"
	expect_same "$work/out"
	expect_text "$work/log" 'several tracer providers: .* named in code, those of second, too' said
	e2e_case=
}

go_build tests/e2e/sink "$work/sink"
build='newest SDK'
go_build tests/targets/identity "$work/identity"
ways
later
windows
[ "${SPANPROF_TIER:-}" = full ] || verdict

two_providers
build='newest SDK, stripped'
go_build tests/targets/identity "$work/identity" '-ldflags=-s -w' -buildmode=pie
ways
# Older layouts, with an old and a new Go: SDK/Go/the go line of the module.
for pair in 1.7.0/1.18.10/1.18 1.7.0/1.27.4/1.18 1.24.0/1.20.14/1.20 1.38.0/1.24.13/1.24; do
	sdk=${pair%%/*} go=${pair#*/}
	go=${go%/*}
	GOTOOLCHAIN=go$go
	export GOTOOLCHAIN
	module_with_sdk "$sdk" "${pair##*/}" tests/targets/identity "$work/module" \
		>"$work/build.log" 2>&1 || {
		cat "$work/build.log" >&2
		exit 77
	}
	for flags in '-ldflags=' '-ldflags=-s -w'; do
		build="SDK $sdk, Go $go, $flags"
		go_build "$work/module" "$work/identity" "$flags"
		ways
	done
done
verdict
