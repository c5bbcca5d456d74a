#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What the encoders write, read by others: OTLP by the official Go modules (tests/e2e/sink), pprof
# by go tool pprof; then the sink itself over HTTP, good and bad requests.
#
#   tests/e2e/format.sh BUILD_DIR
#
# Time limit: 240
set -eu
build=$(realpath "$1")
cd "$(dirname "$0")/../.."
. scripts/lib/go.sh
. scripts/lib/packages.sh
need_packages curl

scratch=$(mktemp -d)
server=
trap '[ -z "$server" ] || kill "$server" 2>/dev/null; rm -rf "$scratch"' EXIT
fail()
{
	echo "FAILED: $*" >&2
	exit 1
}
# expect WHAT GOT WANTED
expect()
{
	[ "$2" = "$3" ] || fail "$1: got $2, wanted $3"
	echo "$1: $2"
}
# figure FIELD FILE: the sum of a number over lines of the sink
figure()
{
	sed -n "s/.*\"$1\":\([0-9]*\).*/\1/p" "$2" | awk '{ sum += $1 } END { print sum + 0 }'
}

(cd tests/e2e/sink && go mod download) || {
	echo "could not fetch the OTLP modules" >&2
	exit 77
}
(cd tests/e2e/sink && go vet . && go test . && go build -o "$scratch/sink" .)
# shellcheck disable=SC2086 # options, one or none
cc -std=gnu11 -D_GNU_SOURCE -O2 ${CFLAGS:-} -I src -I tests/unit -o "$scratch/format_sample" \
	tests/e2e/format_sample.c "$build/src/format/libformat.a" "$build/src/profile/libprofile.a" \
	"$build/src/spans/libspans.a" "$build/src/base/libbase.a" "$build/proto/libproto.a" \
	-lprotobuf-c -lz

# OTLP files: no invariant broken, nothing lost.
"$scratch/format_sample" "$scratch" >"$scratch/parts"
"$scratch/sink" check "$scratch"/small-*.otlp "$scratch"/big-*.otlp >"$scratch/figures" ||
	fail "the checker found: $(cut -c 1-1000 "$scratch/figures")"
expect "values in small-wire.otlp" "$(grep small-wire "$scratch/figures" >"$scratch/one"; figure values "$scratch/one")" 82
expect "linked on the wire" "$(figure linked_values "$scratch/one")" 74
expect "values in big-wire.otlp" "$(grep big-wire "$scratch/figures" >"$scratch/one"; figure values "$scratch/one")" 120000
"$scratch/sink" check "$scratch"/part-*.otlp >"$scratch/figures" ||
	fail "the checker found in a part: $(cut -c 1-1000 "$scratch/figures")"
expect "values in all parts" "$(figure values "$scratch/figures")" 120000
parts=$(wc -l <"$scratch/figures")
expect "what the encoder says" "$(cat "$scratch/parts")" "$parts parts 120000 samples"
[ "$parts" -ge 2 ] || fail "the big profile was not split"
[ -z "$(find "$scratch" -name 'part-*' -size +3670016c)" ] || fail "a part is over 3.5 MiB"
grep -q 'GET' "$scratch/small-wire.otlp" && fail "a span name is on the wire"
grep -q 'GET' "$scratch/small-file.otlp" || fail "no span name in the file"

# pprof: the tool reads it, and one span can be asked for.
top()
{
	go tool pprof -top "$@" 2>"$scratch/pprof.err" >"$scratch/top" ||
		fail "go tool pprof: $(cat "$scratch/pprof.err")"
	[ ! -s "$scratch/pprof.err" ] || sed 's/^/pprof: /' "$scratch/pprof.err"
}
top "$scratch/small.pb.gz"
grep -q '^Type: cpu$' "$scratch/top" || fail "cpu is not the default type"
grep -q '^Duration: 10s, Total samples = 828.28ms' "$scratch/top" || fail "totals: $(head -4 "$scratch/top")"
# pprof reads a value of digits only, or of digits and then letters, as a number (one span ID in
# 700): those are asked for as span_id=^...$.
top -tagfocus=span_id=b1b1b1b1b1b1b1b1 "$scratch/small.pb.gz"
grep -q 'main\.countPrimes\[' "$scratch/top" || fail "span 1 without countPrimes: $(cat "$scratch/top")"
grep -q 'main\.isPrime (inline)' "$scratch/top" || fail "isPrime is not inlined: $(cat "$scratch/top")"
grep -q 'report' "$scratch/top" && fail "span 1 has the functions of span 2"
top -sample_index=samples '-tagfocus=span_id=^b2b2b2b2b2b2b2b2$' "$scratch/small.pb.gz"
expect "samples of span 2" "$(sed -n 's/^Showing nodes accounting for \([0-9]*\).*/\1/p' "$scratch/top")" 20
go tool pprof -tags "$scratch/small.pb.gz" >"$scratch/tags" 2>&1
for tag in span_id trace_id span_name service; do
	grep -q "$tag: Total" "$scratch/tags" || fail "no tag $tag"
done
top "$scratch/big.pb.gz"
top -sample_index=samples -nodefraction=0 "$scratch/unknown.pb.gz"
expect "samples with those of which nothing is known" \
	"$(sed -n 's/^Showing nodes accounting for \([0-9]*\).*/\1/p' "$scratch/top")" 88
grep -q ' 6 .*\[unknown\]$' "$scratch/top" || fail "[unknown] is not shown: $(cat "$scratch/top")"
"$scratch/sink" check "$scratch"/unknown-*.otlp >"$scratch/figures" ||
	fail "the checker found: $(cut -c 1-1000 "$scratch/figures")"

# Folded: counts add up, no control characters.
expect "counts in small.folded" "$(awk '{ sum += $NF } END { print sum }' "$scratch/small.folded")" 82
expect "counts in big.folded" "$(awk '{ sum += $NF } END { print sum }' "$scratch/big.folded")" 120000
LC_ALL=C grep -q '[[:cntrl:]]' "$scratch/big.folded" && fail "control characters in big.folded"

# The sink as a server.
# serve OPTION...: starts it and leaves its address in $address
serve()
{
	mkdir -p "$scratch/kept"
	: >"$scratch/log"
	"$scratch/sink" -listen 127.0.0.1:0 "$@" >"$scratch/log" &
	server=$!
	for _ in $(seq 100); do
		address=$(head -n 1 "$scratch/log")
		[ -z "$address" ] || return 0
		sleep 0.1
	done
	fail "the sink does not start"
}
stop()
{
	kill "$server"
	wait "$server" 2>/dev/null || true
	server=
}
# post VERSION FILE CURL_OPTION...: prints the HTTP status
post()
{
	version=$1 file=$2
	shift 2
	curl -s -o "$scratch/answer" -w '%{http_code}' --noproxy '*' --max-time 20 \
		-H 'Content-Type: application/x-protobuf' -H "OTLP-Profiles-Development-Version: $version" \
		--data-binary "@$file" "$@" "http://$address/v1development/profiles"
}
gzip -k "$scratch/small-wire.otlp"
serve -dir "$scratch/kept"
expect "a request" "$(post 1 "$scratch/small-wire.otlp")" 200
expect "a gzip request" "$(post 1 "$scratch/small-wire.otlp.gz" -H 'Content-Encoding: gzip')" 200
expect "another version" "$(post 2 "$scratch/small-wire.otlp")" 400
expect "no protobuf" "$(post 1 "$scratch/small.folded")" 400
stop
expect "requests the sink printed" "$(grep -c '"request"' "$scratch/log")" 4
cmp "$scratch/kept/request-0002.otlp" "$scratch/small-wire.otlp" || fail "the sink kept something else"
serve -status 503 -times 1 -retry-after 1
expect "an overloaded sink" "$(post 1 "$scratch/small-wire.otlp")" 503
expect "the same later" "$(post 1 "$scratch/small-wire.otlp")" 200
stop
serve -garbage
expect "a garbage answer" "$(post 1 "$scratch/small-wire.otlp")" 200
grep -q 'not OTLP' "$scratch/answer" || fail "the answer is no garbage"
stop
echo "formats: all read by others as written"
