#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# OTLP over gRPC to a server made of the official modules: what arrives is what was sent, by
# cleartext, TLS and mutual TLS; each answer, good or bad, has its consequence and its words.
# Time limit: 120
#
#   tests/e2e/otlp_grpc.sh BUILD_DIR
set -eu
build=$(realpath "${1:?usage: otlp_grpc.sh BUILD_DIR}")
cd "$(dirname "$0")/../.."
. scripts/lib/go.sh
. scripts/lib/shop.sh
. scripts/lib/e2e.sh
for variable in $(env | sed -n 's/^\(OTEL_[A-Z_]*\)=.*/\1/p'); do unset "$variable"; done

go_build tests/e2e/sink "$work/sink"
shop_build "$work"
# shellcheck disable=SC2086 # options, one or none
cc -std=gnu11 -D_GNU_SOURCE -O2 ${CFLAGS:-} -I src -o "$work/sender_send" \
	tests/e2e/sender_send.c "$build/src/export/libexport.a" "$build/src/format/libformat.a" \
	"$build/src/base/libbase.a" -lcurl -lz -lpthread
# shellcheck disable=SC2086
cc -std=gnu11 -D_GNU_SOURCE -O2 ${CFLAGS:-} -I src -I tests/unit -o "$work/format_sample" \
	tests/e2e/format_sample.c "$build/src/format/libformat.a" "$build/src/profile/libprofile.a" \
	"$build/src/spans/libspans.a" "$build/src/base/libbase.a" "$build/proto/libproto.a" \
	-lprotobuf-c -lz
mkdir "$work/files" "$work/tls"
"$work/format_sample" "$work/files" >/dev/null
"$work/sink" certificates "$work/tls"
small=$work/files/small-wire.otlp
large=$work/files/part-0.otlp # 2 MB

# send STATUS ENDPOINT [VARIABLE=VALUE...] FILE...: variables without OTEL_EXPORTER_OTLP_.
send()
{
	send_wanted=$1 send_endpoint=$2 send_variables='' send_files=''
	shift 2
	for send_word; do
		case $send_word in
		/*) send_files="$send_files $send_word" ;;
		*) send_variables="$send_variables OTEL_EXPORTER_OTLP_$send_word" ;;
		esac
	done
	began=$(date +%s.%N)
	# shellcheck disable=SC2086 # no spaces in them
	run "$send_wanted" env OTEL_EXPORTER_OTLP_PROTOCOL=grpc $send_variables \
		timeout 60 "$work/sender_send" "${flush_ms:-5000}" 0 "$send_endpoint" $send_files
	took=$(seconds_since "$began")
	LC_ALL=C expect_no_text "$work/log" '[[:cntrl:]]' 'control characters'
}

# counted REQUESTS SAMPLES DROPPED: what the sender says.
counted()
{
	expect 'requests, samples sent and dropped' \
		"$(sed -n 's/^requests \([0-9]*\) sent \([0-9]*\) dropped \([0-9]*\) .*/\1 \2 \3/p' \
			"$work/out")" "$1 $2 $3"
}

# said COUNT EXPRESSION
said()
{
	expect "lines like '$2'" "$(grep -c -e "$2" "$work/log")" "$1"
}

received()
{
	find "$sink_dir" -name 'request-*.otlp' | wc -l
}

# of_header NAME: its values in all calls, the different ones.
of_header()
{
	cat "$sink_dir"/*.headers | sed -n "s/^$1: //p" | sort -u
}

expect_well_formed()
{
	end "$sink_pid" || fail "malformed requests: $(cat "$sink_dir/errors" "$sink_dir/lines")"
}

arrives_as_it_was()
{
	for compression in gzip none; do
		e2e_case="$compression: "
		sink_start -grpc
		send 0 "http://$sink_address" COMPRESSION=$compression "$small" "$large" \
		"$work/files/part-1.otlp"
		counted 3 3 0
		said 0 .
		cmp "$sink_dir/request-0001.otlp" "$small" || fail 'another small request'
		cmp "$sink_dir/request-0002.otlp" "$large" || fail 'another large request'
		cmp "$sink_dir/request-0003.otlp" "$work/files/part-1.otlp" || fail 'another third'
		expect 'grpc-encoding' "$(of_header grpc-encoding)" \
			"$(echo "$compression" | sed 's/none//')"
		echo "bytes on the wire: $(sink_figure wire_bytes | sum) of $(sink_figure bytes | sum)"
		expect_well_formed
	done
	e2e_case=
}

metadata()
{
	sink_start -grpc
	# A proxy for whoever started the agent is none of its own.
	export http_proxy=http://127.0.0.1:1
	send 0 "http://me:p%40ss@$sink_address" HEADERS=X-Scope-OrgID=a%20b,Api-Key=k%3D1 "$small"
	unset http_proxy
	expect x-scope-orgid "$(of_header x-scope-orgid)" 'a b'
	expect api-key "$(of_header api-key)" 'k=1'
	expect authorization "$(of_header authorization)" "Basic $(printf me:p@ss | base64)"
	expect user-agent "$(of_header user-agent)" \
		"$("$build/spanprof" --version | tr ' ' /)"
	expect_well_formed
	sink_start -grpc
	send 0 "http://$sink_address/v1/profiles" HEADERS=User-Agent=mine "$small"
	expect user-agent "$(of_header user-agent)" mine
	said 1 "path is ignored"
	expect_well_formed
}

# libcurl below 8 cannot use a connection in cleartext twice; with TLS it can.
connections()
{
	sink_start -grpc
	send 0 "http://$sink_address" "$small" "$small" "$small"
	counted 3 3 0
	case $(curl-config --version) in
	*' '[1-7].*) wanted=3 ;;
	*) wanted=1 ;;
	esac
	expect 'connections in cleartext' "$(of_header peer | wc -l)" "$wanted"
	expect_well_formed
	sink_start -grpc -tls "$work/tls"
	send 0 "https://$sink_address" "CERTIFICATE=$work/tls/ca.pem" "$small" "$large" "$small"
	counted 3 3 0
	expect 'connections with TLS' "$(of_header peer | wc -l)" 1
	cmp "$sink_dir/request-0002.otlp" "$large" || fail 'another large request'
	expect_well_formed
}

tls()
{
	e2e_case='TLS: '
	sink_start -grpc -tls "$work/tls"
	send 0 "$sink_address" "CERTIFICATE=$work/tls/ca.pem" "$small"
	send 0 "https://$sink_address" "PROFILES_CERTIFICATE=$work/tls/ca.pem" INSECURE=true \
		"$small"
	send 1 "https://$sink_address" "$small" "$small"
	counted 0 0 2
	said 1 'certificate'
	send 1 "https://$sink_address" "CERTIFICATE=$work/tls/another-ca.pem" "$small"
	said 1 'certificate.*request dropped'
	send 1 "$sink_address" INSECURE=true "$small"
	said 1 'does it want TLS?'
	expect 'requests received' "$(received)" 2
	expect_well_formed
	e2e_case='mutual TLS: '
	sink_start -grpc -tls "$work/tls" -client-ca
	send 0 "https://$sink_address" "CERTIFICATE=$work/tls/ca.pem" \
		"CLIENT_KEY=$work/tls/client.key" "CLIENT_CERTIFICATE=$work/tls/client.pem" \
		"$small"
	counted 1 1 0
	send 1 "https://$sink_address" "CERTIFICATE=$work/tls/ca.pem" "$small"
	counted 0 0 1
	expect 'requests received' "$(received)" 1
	expect_well_formed
	e2e_case='no TLS there: '
	sink_start -grpc
	send 0 "$sink_address" INSECURE=true "$small"
	send 1 "$sink_address" "$small"
	said 1 'then use http://'
	expect_well_formed
	e2e_case=
}

tries_again()
{
	e2e_case='UNAVAILABLE: '
	sink_start -grpc -code 14 -message 'queue%full' -times 2
	send 0 "http://$sink_address" "$small" "$large" "$small"
	counted 3 3 0
	said 1 'UNAVAILABLE: queue%full: will try again'
	said 1 'works again'
	expect 'requests received' "$(received)" 5
	cmp "$sink_dir/request-0004.otlp" "$large" || fail 'the second is not the large one'
	expect_well_formed
	e2e_case='RetryInfo: '
	sink_start -grpc -code 8 -message wait -retry-delay 1500ms -times 1
	send 0 "http://$sink_address" "$small" "$small"
	counted 2 2 0
	said 1 'RESOURCE_EXHAUSTED: wait: will try again'
	expect_within seconds "$took" 1.5 4
	expect 'requests received' "$(received)" 3
	expect_well_formed
	e2e_case='slow: '
	sink_start -grpc -delay 60s
	send 1 "http://$sink_address" TIMEOUT=500 "$small"
	said 1 'timed out.*will try again'
	expect_within seconds "$took" 0.5 4
	flush_ms=1000 send 1 "http://$sink_address" "$small"
	expect_within seconds "$took" 1 2
	end "$sink_pid" || :
	e2e_case=
}

# refused CODE EXPRESSION: two requests, each tried once, one line.
refused()
{
	e2e_case="status $1: "
	sink_start -grpc -code "$1" -message 'not you'
	send 1 "http://$sink_address" "$small" "$small"
	counted 0 0 2
	said 1 "$2: request dropped"
	said 1 .
	expect 'requests received' "$(received)" 2
	expect_well_formed
	e2e_case=
}

refusals()
{
	refused 3 'INVALID_ARGUMENT: not you'
	refused 7 'PERMISSION_DENIED: not you (set OTEL_EXPORTER_OTLP_HEADERS?)'
	refused 8 'RESOURCE_EXHAUSTED: not you'
	refused 12 'UNIMPLEMENTED: not you (.*service.profilesSupport)'
	refused 16 'UNAUTHENTICATED: not you.*'
	refused 77 'gRPC status 77: not you'
	e2e_case='partial success: '
	for compression in gzip none; do
		sink_start -grpc -partial 'too many of them'
		send 0 "http://$sink_address" COMPRESSION=$compression "$small" "$small"
		counted 2 2 0
		said 1 'rejected 1 profiles: too many of them'
		expect_well_formed
	done
	e2e_case='too large: '
	sink_start -grpc -max-bytes 2000
	send 1 "http://$sink_address" COMPRESSION=none "$small" "$large"
	counted 1 1 1
	# libcurl 8 hands the status over, 7.88 only that the call has ended.
	said 1 'too large.*will try again\|RESOURCE_EXHAUSTED: .*larger than max.*request dropped'
	expect_well_formed
	e2e_case=
}

# broken HOW EXPRESSION: a server that is none, or breaks half-way.
broken()
{
	e2e_case="$1: "
	sink_start -broken "$1"
	flush_ms=1500 send 1 "http://$sink_address" TIMEOUT=1000 "$small"
	counted 0 0 1
	said 1 "$2"
	expect_within seconds "$took" 0 3.5
	end "$sink_pid" || :
	e2e_case=
}

broken_servers()
{
	broken page 'HTTP 200, but no gRPC status'
	broken no-trailer 'HTTP 200, but no gRPC status'
	broken half 'stream .* was not closed cleanly.*will try again'
	broken cut 'the answer is not OTLP'
	broken endless 'the answer is too long to be OTLP'
	broken slow 'timed out.*will try again'
	# To libcurl 7.88 this trailer is not there, to libcurl 8 it is an error.
	broken long-message 'no gRPC status.*request dropped\|will try again'
	broken proxy 'HTTP 502: no upstream: will try again'
	e2e_case='garbage: '
	sink_start -grpc -garbage
	send 1 "http://$sink_address" "$small"
	said 1 'gRPC status OK, but the answer is not OTLP'
	expect_well_formed
	e2e_case=
}

# Each protocol at the port of the other one, in cleartext and with TLS.
wrong_ports()
{
	e2e_case='gRPC at an HTTP port: '
	sink_start
	send 1 "http://$sink_address" "$small" "$small"
	counted 0 0 2
	said 1 'no answer in HTTP/2.*will try again'
	said 1 'is it an OTLP/HTTP port? then set OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf'
	said 2 .
	expect 'requests received' "$(received)" 0
	expect_well_formed
	sink_start -tls "$work/tls"
	send 1 "https://$sink_address" "CERTIFICATE=$work/tls/ca.pem" "$small"
	said 1 'HTTP 404'
	said 1 'is it an OTLP/HTTP port?'
	send 0 "https://$sink_address" "CERTIFICATE=$work/tls/ca.pem" \
		PROFILES_PROTOCOL=http/protobuf "$small"
	expect_well_formed
	e2e_case='HTTP at a gRPC port: '
	sink_start -grpc -tls "$work/tls"
	send 1 "https://$sink_address" "CERTIFICATE=$work/tls/ca.pem" \
		PROFILES_PROTOCOL=http/protobuf "$small"
	said 1 'HTTP 415'
	said 1 'is it a gRPC port? then set OTEL_EXPORTER_OTLP_PROTOCOL=grpc'
	expect_well_formed
	e2e_case=
}

# The agent itself: all it saw, by the variables of the specification.
profiles()
{
	shop_start "$work" -load 60
	child "$shop_pid"
	sink_start -grpc
	run 0 env OTEL_EXPORTER_OTLP_PROTOCOL=grpc OTEL_EXPORTER_OTLP_INSECURE=true \
		"OTEL_EXPORTER_OTLP_ENDPOINT=$sink_address" \
		"$build/spanprof" -p "$shop_pid" -d 3 --window 1 -o "$work/own.otlp"
	end "$shop_pid" || fail "the shop exited $?"
	expect_well_formed
	expect_text "$work/log" \
		"sending profiles to http://$sink_address over gRPC (from the environment)" said
	expect_text "$work/log" "delivered $(sink_figure values | sum) samples in" said
	"$work/sink" list "$work/own.otlp" >"$work/own"
	"$work/sink" list "$sink_dir"/request-*.otlp >"$work/list"
	diff "$work/own" "$work/list" >"$work/diff" ||
		fail "not what was seen: $(head -20 "$work/diff")"
	expect 'spans linked' "$(grep -c ^link "$work/list")" "$(grep -c ^link "$work/own")"
	echo "lines compared: $(wc -l <"$work/list")"
}

arrives_as_it_was
metadata
connections
tls
tries_again
refusals
broken_servers
wrong_ports
profiles
verdict
