#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A CPU profile of the Go runtime with span labels, shown, converted and sent: what arrives is what
# the official pprof module reads in the file; and what show does with files that are none.
# Time limit: 90
#
#   tests/e2e/convert.sh BUILD_DIR
set -eu
spanprof=$(realpath "${1:?usage: convert.sh BUILD_DIR}")/spanprof
cd "$(dirname "$0")/../.."
. scripts/lib/go.sh
. scripts/lib/e2e.sh
unset OTEL_EXPORTER_OTLP_ENDPOINT OTEL_EXPORTER_OTLP_PROFILES_ENDPOINT \
	OTEL_EXPORTER_OTLP_PROTOCOL OTEL_EXPORTER_OTLP_HEADERS

# same WHAT FILE...: OTLP requests say what go.pb.gz says.
same()
{
	what=$1
	shift
	"$work/sink" rows "$@" >"$work/got"
	expect "differences, $what" "$(diff "$work/wanted" "$work/got" | grep -c '^[<>]')" 0
}

profile()
{
	"$work/labelled" -seconds 3 -rate 250 -profile "$work/go.pb.gz" -heap "$work/heap.pb.gz" \
		2>"$work/errors" || fail "the program fails: $(cat "$work/errors")"
	"$work/verify" rows -pprof "$work/go.pb.gz" >"$work/wanted"
	gunzip -c "$work/go.pb.gz" >"$work/go.pb"
	total=$(awk '$1 != "profile" { sum += $1 } END { printf "%.0f\n", sum / 4e6 }' "$work/wanted")
	expect_within 'samples in the file' "$total" 200 800
	# Each of the nine kinds of work has a ninth of the time; three of them can be linked.
	for span in 00f067aa0ba902b7 00f067aa0ba902b8 b7ad6b7169203331; do
		expect_within "percent of them in span $span" "$(grep " $span " "$work/wanted" |
			awk -v total="$total" '{ sum += $1 } END { print sum / 4e4 / total }')" 5 20
	done
	expect 'links in the file' "$(awk '$1 != "profile" && $5 != "-" { print $4, $5 }' \
		"$work/wanted" | sort -u | wc -l)" 3
}

shown()
{
	run 0 "$spanprof" show "$work/go.pb.gz"
	expect_text "$work/out" " $total samples " 'the report'
	expect_text "$work/out" 'GET /checkout . labelled' 'a span in it'
	expect_text "$work/out" 'main.burn → main.mix → main.step' 'inlined calls in it'
	expect_text "$work/log" 'samples have a label that is no span or trace ID$' said
	expect_text "$work/log" 'samples name a span but no trace: they are not linked$' said
	expect 'lines about it' "$(wc -l <"$work/log")" 2
}

converted()
{
	for name in go.pb.gz go.pb; do
		run 0 "$spanprof" show "$work/$name" -o "$work/a.otlp" -o "$work/a.pb.gz" \
			-o "$work/a.folded"
		"$work/sink" check "$work/a.otlp" >"$work/figures" ||
			fail "a.otlp: $(cat "$work/figures")"
		same "$name as .otlp" "$work/a.otlp"
		"$work/verify" rows -pprof "$work/a.pb.gz" >"$work/got"
		expect "differences, $name as .pb.gz" \
			"$(diff "$work/wanted" "$work/got" | grep -c '^[<>]')" 0
		expect "samples in a.folded" \
			"$(awk '{ sum += $NF } END { print sum }' "$work/a.folded")" "$total"
	done
	run 0 "$spanprof" show "$work/go.pb.gz" "$work/a.otlp" "$work/a.pb.gz" -o -
	expect 'samples of three files' \
		"$(awk '{ sum += $NF } END { print sum }' "$work/out")" "$((3 * total))"
}

# shellcheck disable=SC2119 # no options of the sink
sent()
{
	for name in go.pb.gz a.otlp; do
		sink_start
		run 0 "$spanprof" show "$work/$name" --otlp-endpoint "http://$sink_address"
		expect_text "$work/log" "delivered $total samples in 1 request$" "$name"
		expect 'bytes on stdout' "$(wc -c <"$work/out")" 0
		same "$name as received" "$sink_dir"/request-*.otlp
		end "$sink_pid" || fail "malformed requests: $(cat "$sink_dir/lines")"
	done
	sink_start
	run 0 "$spanprof" show "$work/go.pb.gz" --span 00f067aa0ba902b8 \
		--otlp-endpoint "http://$sink_address"
	grep ' 00f067aa0ba902b8 ' "$work/wanted" >"$work/one"
	"$work/sink" rows "$sink_dir"/request-*.otlp | grep -v '^profile' >"$work/got"
	expect 'differences, one span as received' \
		"$(diff "$work/one" "$work/got" | grep -c '^[<>]')" 0
	run 0 env "OTEL_EXPORTER_OTLP_ENDPOINT=http://$sink_address" \
		"$spanprof" show "$work/go.pb.gz"
	expect_no_text "$work/log" 'sending\|delivered' 'sent where nobody asked for it'
	expect 'requests' "$(find "$sink_dir" -name 'request-*.otlp' | wc -l)" 1
	end "$sink_pid" || fail "malformed requests: $(cat "$sink_dir/lines")"
	began=$(date +%s.%N)
	run 1 "$spanprof" show "$work/go.pb.gz" --otlp-endpoint "http://$sink_address"
	expect_text "$work/log" "error: $total of $total samples were not delivered: .*onnect" \
		'to nobody'
	expect_within 'seconds' "$(seconds_since "$began")" 0 5
}

# refused NAME EXPRESSION FILE...: one line, soon.
refused()
{
	e2e_case="$1: " expression=$2
	shift 2
	began=$(date +%s.%N)
	run 1 "$spanprof" show "$@"
	expect_within 'seconds' "$(seconds_since "$began")" 0 3
	expect 'lines' "$(grep -c error "$work/log")" 1
	expect_text "$work/log" "^spanprof: error: .*$expression" said
	expect 'bytes on stdout' "$(wc -c <"$work/out")" 0
	e2e_case=
}

no_files()
{
	head -c 600 "$work/go.pb.gz" >"$work/short.pb.gz"
	head -c 1500 "$work/go.pb" >"$work/short.pb"
	head -c 300000000 /dev/zero | gzip -1 >"$work/bomb.pb.gz"
	truncate -s 1G "$work/large.pb"
	refused 'a heap profile' 'no profile of CPU time .* of alloc_objects/count' \
		"$work/heap.pb.gz"
	refused 'one among others' 'heap.pb.gz: no profile of CPU time' "$work/go.pb.gz" \
		"$work/heap.pb.gz"
	refused 'cut off' 'its gzip data are damaged or cut off' "$work/short.pb.gz"
	refused 'cut off, plain' 'not a' "$work/short.pb"
	refused 'a bomb' 'larger than 128 MiB when it is unpacked' "$work/bomb.pb.gz"
	refused 'over the limit' 'larger than 128 MiB' "$work/large.pb"
	refused 'a text' 'not an OTLP' tests/e2e/convert.sh
}

go_build tests/e2e/sink "$work/sink"
go_build tests/e2e/verify "$work/verify"
go_build tests/targets/labelled "$work/labelled"
profile
shown
converted
sent
no_files
verdict
