#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Every sample of a service whose truth is known carries the right span and the right stack.
# Time limit: 420
#
#   tests/e2e/truth.sh BUILD_DIR [SECONDS] [BUILD...]
#   BUILD: default stripped stripped-pie race unoptimized
set -eu
cd "$(dirname "$0")/../.."
. scripts/lib/go.sh
build_dir=${1:?usage: truth.sh BUILD_DIR [SECONDS] [BUILD...]}
seconds=15
[ "${SPANPROF_TIER:-default}" != full ] || seconds=30
[ $# -lt 2 ] || seconds=$2
hertz=199
if [ $# -gt 2 ]; then
	shift 2
else
	set -- default stripped stripped-pie race unoptimized
fi
work=$(mktemp -d)
target=
trap '[ -z "$target" ] || kill "$target" 2>/dev/null; rm -rf "$work"' EXIT
trap 'exit 130' INT TERM

# go_build DIR OUTPUT [FLAG...]
go_build()
{
	(
		cd "$1"
		output=$2
		shift 2
		go mod download || exit 77
		go build -o "$output" "$@" .
	)
}

flags_of()
{
	case $1 in
	default) ;;
	stripped) echo '-ldflags=-s -w' ;;
	stripped-pie) printf '%s\n' '-ldflags=-s -w' -buildmode=pie ;;
	race) echo -race ;;
	unoptimized) echo '-gcflags=all=-N -l' ;;
	*)
		echo "truth.sh: no build $1" >&2
		return 2
		;;
	esac
}

# profile NAME: runs the program and spanprof beside it, then compares.
profile()
{
	: >"$work/truth.out"
	"$work/truth-$1" -seconds $((seconds + 60)) -truth "$work/truth.jsonl" >"$work/truth.out" &
	target=$!
	tries=0
	until grep -q ready "$work/truth.out"; do
		tries=$((tries + 1))
		[ "$tries" -lt 100 ] || {
			echo 'truth.sh: the program does not get ready' >&2
			return 1
		}
		sleep 0.1
	done
	"$build_dir/spanprof" -p "$target" -F "$hertz" -d "$seconds" -o "$work/samples.jsonl" \
		-o "$work/samples.pb.gz" >"$work/report" 2>"$work/log" || {
		echo "truth.sh: spanprof exited $?" >&2
		cat "$work/log" >&2
		return 1
	}
	kill "$target"
	status=0
	wait "$target" || status=$?
	target=
	cat "$work/truth.out"
	[ "$status" = 0 ] || return 1
	"$work/verify" truth -truth "$work/truth.jsonl" -samples "$work/samples.jsonl" \
		-pprof "$work/samples.pb.gz" -freq "$hertz"
}

go_build tests/e2e/verify "$work/verify"
(cd tests/e2e/verify && go test ./...)
failed=
for name; do
	flags=$(flags_of "$name")
	IFS='
'
	# shellcheck disable=SC2086
	go_build tests/targets/truth "$work/truth-$name" $flags
	unset IFS
	echo "-- $name, $seconds s at $hertz Hz"
	profile "$name" || failed="$failed $name"
	if [ -n "$target" ]; then
		kill "$target" 2>/dev/null || :
		wait "$target" || :
		target=
	fi
	rm -f "$work/truth-$name"
done
[ -z "$failed" ] || {
	echo "truth.sh: failed:$failed" >&2
	exit 1
}
