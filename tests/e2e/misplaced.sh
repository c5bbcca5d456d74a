#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# An SDK that starts its spans another way: the first start point is there and never hit. That is
# found out, told once, and the next one is taken.
# Tier: full
# Time limit: 200
#
#   tests/e2e/misplaced.sh BUILD_DIR
set -eu
spanprof=$(realpath "${1:?usage: misplaced.sh BUILD_DIR}")/spanprof
cd "$(dirname "$0")/../.."
. scripts/lib/go.sh
. scripts/lib/e2e.sh
. tests/e2e/verify/profile.sh

# The truth program with an SDK whose Start puts the span into the context in a function of its own,
# and keeps the call that spanprof looks for on a path that is never taken.
cp -R tests/targets/truth "$work/truth-source"
(
	cd "$work/truth-source"
	go mod vendor
) || {
	echo 'misplaced.sh: could not fetch the modules' >&2
	exit 77
}
sdk=$work/truth-source/vendor/go.opentelemetry.io/otel/sdk/trace
call='newCtx := trace.ContextWithSpan(ctx, s)'
grep -q "$call" "$sdk/tracer.go" || fail 'the SDK is another one'
sed -i "s/$call/var newCtx context.Context\n\tif neverTaken {\n\t\tnewCtx = trace.ContextWithSpan(ctx, s)\n\t} else {\n\t\tnewCtx = keepSpan(ctx, s)\n\t}/" \
	"$sdk/tracer.go"
cat >"$sdk/keep.go" <<'GO'
package trace

import (
	"context"
	"os"

	"go.opentelemetry.io/otel/trace"
)

var neverTaken = len(os.Args) > 1000

//go:noinline
func keepSpan(ctx context.Context, s trace.Span) context.Context {
	return trace.ContextWithSpan(ctx, s)
}
GO
(cd "$work/truth-source" && go build -mod=vendor -o "$work/truth-misplaced" .)
go_build tests/e2e/verify "$work/verify"

truth_profile "$spanprof" "$work/truth-misplaced" 12 199 || fail 'no profile'
cat "$work/log"
expect 'messages that the start point is another' \
	"$(grep -c 'spans start, but not where they were looked for' "$work/log")" 1
expect_text "$work/log" 'looked for at recordingSpan.runtimeTrace' 'the next one'
# Judged as a whole below: what is wrong, and what has its tag by a probe again.
truth_verify 199 -show 30 >"$work/verdict" || :
grep -e ' × ' -e '^  +' "$work/verdict" || : # the reasons
expect_text "$work/verdict" 'total: .* wrong 0 ' 'no wrong span'
count()
{
	grep -c "\"source\":\"$1\"" "$work/samples.jsonl" || :
}
own=$(($(count own) + $(count inherited)))
stack=$(count stack)
echo "samples by probes: $own, on stacks: $stack, none: $(count none)"
expect_within 'samples by probes for one found on a stack' "$((own / (stack + 1)))" 2 100000
verdict
