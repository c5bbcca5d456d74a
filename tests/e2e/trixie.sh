#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A clean clone builds in a fresh Debian 13 root, and what its clang and libbpf made tags spans.
# Tier: full
# Time limit: 1200
set -eu
cd "$(dirname "$0")/../.."
. scripts/lib/go.sh
work=$(mktemp -d)
target=
trap '[ -z "$target" ] || kill -9 "$target" 2>/dev/null; rm -rf "$work"' EXIT
trap 'exit 130' INT TERM
(cd tests/targets/truth && { go mod download || exit 77; } && go build -o "$work/truth" .)
"$work/truth" -seconds 1100 -workers 2 -truth "$work/truth.jsonl" >"$work/truth.log" &
target=$!
# Stopped while the tree is built.
until grep -q ready "$work/truth.log"; do
	kill -0 "$target"
	sleep 0.1
done
kill -STOP "$target"
status=0
# shellcheck disable=SC2016
tests/e2e/debian-root.sh trixie sh -euc '
	scripts/build
	again=$(scripts/build 2>&1)
	[ -z "$again" ] || { echo "scripts/build talks when nothing is to do: $again"; exit 1; }
	kill -CONT "$1"
	echo "report"
	build/spanprof -p "$1" -d 5' sh "$target" >"$work/output" || status=$?
kill "$target" || :
kill -CONT "$target" || :
wait "$target" || status=1
target=
[ "$status" = 0 ] || {
	cat "$work/output" "$work/truth.log"
	exit "$status"
}
sed -n '/^report$/,$p' "$work/output" | grep -oE '\b[0-9a-f]{16}\b' | sort -u >"$work/reported"
sed -nE 's/^\{"span":"([0-9a-f]{16})".*/\1/p' "$work/truth.jsonl" | sort -u >"$work/issued"
reported=$(wc -l <"$work/reported")
foreign=$(comm -23 "$work/reported" "$work/issued" | wc -l)
echo "$reported spans reported, $foreign of them never issued"
[ "$reported" -gt 0 ] && [ "$foreign" = 0 ]
