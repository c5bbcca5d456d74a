#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Where spans wait: a program whose spans wait in ten known ways for known times.
# Tier: full
# Time limit: 200
#
#   tests/e2e/waits.sh BUILD_DIR [SECONDS]
set -eu
spanprof=$(realpath "${1:?usage: waits.sh BUILD_DIR [SECONDS]}")/spanprof
cd "$(dirname "$0")/../.."
. scripts/lib/go.sh
. scripts/lib/e2e.sh
seconds=${2:-20}

go_build tests/e2e/verify "$work/verify"
go_build tests/targets/waits "$work/waits"

# profiled SECONDS FLAG...: from before its first span until after its last one.
profiled()
{
	run 0 "$spanprof" --wait 99 -d $(($1 + 30)) -o "$work/waits.pb.gz" --verbose -- \
		"$work/waits" -truth "$work/truth.jsonl" -seconds "$@"
	grep 'waits:' "$work/log" || fail 'no figures of looks'
}

echo '-- ten ways to wait'
profiled "$seconds"
"$work/verify" waits -truth "$work/truth.jsonl" -pprof "$work/waits.pb.gz" || fail 'waits differ'

# How much of a listed span is accounted for agrees with what is said to be uncertain of it.
echo '-- the sum of a span'
cp "$work/out" "$work/report"
expect_text "$work/report" '^    [0-9.]* s = .* s waiting (.* in main\.[a-zA-Z]* kinds.go' 'a sum'
sed -n 's/.*accounted for: \([0-9.]*\) % [^0-9]* \([0-9.]*\) %.*/\1 \2/p' "$work/report" >"$work/shares"
expect_within 'spans with a share' "$(wc -l <"$work/shares")" 5 10
expect 'of these farther from 100 % than three standard errors' "$(awk '
	{ off = $1 > 100 ? $1 - 100 : 100 - $1 }
	off > 3 * $2 + 1 { far++ }
	END { print far + 0 }' "$work/shares")" 0
verdict
