#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The shop under load: each route's CPU sits on the spans that the shop itself printed.
#
#   tests/e2e/shop.sh BUILD_DIR [SECONDS]
set -eu
cd "$(dirname "$0")/../.."
. scripts/lib/go.sh
. scripts/lib/shop.sh
build_dir=${1:?usage: shop.sh BUILD_DIR [SECONDS]}
seconds=${2:-12}
work=$(mktemp -d)
trap 'shop_stop; rm -rf "$work"' EXIT
trap 'exit 130' INT TERM

shop_build "$work"
(cd tests/e2e/verify && go build -o "$work/verify" .)
shop_start "$work"
shop_profile "$seconds" "$build_dir/spanprof" -o "$work/shop.pb.gz"

# What is under way at the attach, and at the end, shows as that.
"$work/shop" load -to "$shop_address" -seconds 2 >"$work/answers" 2>&1 &
requests=$!
sleep 0.3
"$build_dir/spanprof" -p "$shop_pid" -d 0.3 >"$work/stuck" 2>"$work/stuck.log"
wait "$requests"
for words in 'still open after' 'it began .* before the profile'; do
	grep -m 1 "$words" "$work/stuck" || {
		echo "shop.sh: of no request under way it is told that: $words" >&2
		cat "$work/stuck.log" "$work/stuck" >&2
		exit 1
	}
done
shop_stop
"$work/verify" shop -log "$work/shop.log" -pprof "$work/shop.pb.gz"

# A trace of several spans is drawn: the server's, and inside it the route's own ones.
sed -n '/^The trace of span/,/^$/p' "$work/report" >"$work/tree"
if ! grep -q '^GET /' "$work/tree" || ! grep -q '^  [a-z]' "$work/tree"; then
	echo 'shop.sh: the report draws no trace:' >&2
	cat "$work/report" >&2
	exit 1
fi

# pprof's own filter finds the same in every span that was profiled.
sed -n 's/^span GET .cpu-heavy .*span=\([0-9a-f]*\) .*/\1/p' "$work/shop.log" >"$work/spans"
found=0
while read -r span; do
	go tool pprof -top -nodecount=1 -tagfocus="span_id=$span" "$work/shop.pb.gz" \
		>"$work/top" 2>/dev/null
	! grep -q '^Showing nodes accounting for 0,' "$work/top" || continue
	found=$((found + 1))
	tail -1 "$work/top" | grep -q 'main\.\(countPrimes\|isPrime\)' || {
		echo "shop.sh: go tool pprof -tagfocus=span_id=$span does not lead to main.countPrimes:" >&2
		cat "$work/top" >&2
		exit 1
	}
	top="span_id=$span: $(tail -1 "$work/top")"
done <"$work/spans"
[ "$found" -gt 0 ] || {
	echo 'shop.sh: go tool pprof -tagfocus finds none of the printed spans' >&2
	exit 1
}
echo "go tool pprof -top -tagfocus, $found spans, the last: $top"
