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
seconds=${2:-10}
work=$(mktemp -d)
trap 'shop_stop; rm -rf "$work"' EXIT
trap 'exit 130' INT TERM

shop_build "$work"
(cd tests/e2e/verify && go build -o "$work/verify" .)
shop_start "$work"
shop_load "$((seconds + 1))"
"$build_dir/spanprof" -p "$shop_pid" -d "$seconds" -o "$work/shop.pb.gz" >"$work/report" 2>"$work/log" || {
	echo "shop.sh: spanprof exited $?" >&2
	cat "$work/log" >&2
	exit 1
}
shop_wait
shop_stop
"$work/verify" shop -log "$work/shop.log" -pprof "$work/shop.pb.gz"

# pprof's own filter finds the same.
span=$(sed -n 's/^span GET .cpu-heavy .*span=\([0-9a-f]*\) .*/\1/p' "$work/shop.log" | sed -n 2p)
go tool pprof -top -nodecount=1 -tagfocus="span_id=$span" "$work/shop.pb.gz" >"$work/top" 2>/dev/null
tail -1 "$work/top" | grep -q 'main\.\(countPrimes\|isPrime\)' || {
	echo "shop.sh: go tool pprof -tagfocus=span_id=$span does not lead to main.countPrimes:" >&2
	cat "$work/top" >&2
	exit 1
}
echo "go tool pprof -tagfocus=span_id=$span: $(tail -1 "$work/top")"
